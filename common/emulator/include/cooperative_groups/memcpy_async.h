// cooperative_groups::memcpy_async and wait.
#pragma once

#include "../cooperative_groups.h"
#include "../cuda_emu/async_elements.hpp"

namespace cooperative_groups {

// Copies `size` bytes. All threads of the group must call it, and wait() before the data is used.
template <class Group, class Size>
inline void memcpy_async(const Group& group, void* to, const void* from, Size size, CUDA_EMU_HERE) {
  cuda_emu::copy_elements(to, from, size, group.thread_rank(), group.size(), {"memcpy_async", file, line});
  __pipeline_commit(file, line);
}

template <class Group>
inline void wait(const Group& group, CUDA_EMU_HERE) {
  cuda_emu::finish_copies();
  group.sync(file, line);
}

// Waits for all copies but the last `Prior`.
template <unsigned Prior, class Group>
inline void wait_prior(const Group& group, CUDA_EMU_HERE) {
  __pipeline_wait_prior(Prior, file, line);
  group.sync(file, line);
}

}  // namespace cooperative_groups
