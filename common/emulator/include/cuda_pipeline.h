// Asynchronous copies from global to shared memory, like cp.async: the functions of cuda_pipeline_primitives.h except
// __pipeline_arrive_on.
//
// On a GPU a copy happens at any time between the call and the end of the wait for it. Here the time depends on
// CUDA_EMU_ORDER. forward: as late as possible, so a read without a wait gets the old content. reverse: at once, so the
// copy overwrites data that others still read. random: either, at random.
#pragma once

#include "cuda_emu/device.hpp"

namespace cuda_emu {

void copy_async(void* to, const void* from, std::size_t size, std::size_t zeros, const Where& where);
#ifdef CUDA_EMU_TRACE
void trace_async_copy(void* to, const void* from, std::size_t size, std::size_t zeros, const void* return_address);
#endif
void commit_copies(const Where& where);
void wait_for_copies(std::size_t batches_left, const Where& where);

}  // namespace cuda_emu

// Copies 4, 8 or 16 bytes; both addresses must be aligned to that size. The last `zfill` bytes are set to 0, not read.
CUDA_EMU_TRACED void __pipeline_memcpy_async(void* __restrict__ dst_shared, const void* __restrict__ src_global,
                                             std::size_t size_and_align, std::size_t zfill = 0, CUDA_EMU_HERE) {
  cuda_emu::copy_async(dst_shared, src_global, size_and_align, zfill, {"__pipeline_memcpy_async", file, line});
#ifdef CUDA_EMU_TRACE
  cuda_emu::trace_async_copy(dst_shared, src_global, size_and_align, zfill, __builtin_return_address(0));
#endif
}

// Makes the thread's copies since the last commit a batch, which may be empty.
inline void __pipeline_commit(CUDA_EMU_HERE) { cuda_emu::commit_copies({"__pipeline_commit", file, line}); }

// Waits for all batches of the calling thread but the last `prior`. Does not wait for uncommitted copies, or for those
// of other threads.
inline void __pipeline_wait_prior(std::size_t prior, CUDA_EMU_HERE) {
  cuda_emu::wait_for_copies(prior, {"__pipeline_wait_prior", file, line});
}
