// Asynchronous copies from global to shared memory, as cp.async makes them: the functions of
// cuda_pipeline_primitives.h but for __pipeline_arrive_on.
//
// A copy happens at some time between the call and the end of the wait for it. Here that depends on the order of
// threads (CUDA_EMU_ORDER): as late as possible in forward order, so that what is read without waiting is still the old
// content; at once in reverse order, so that what others still read is overwritten; and by chance in random order.
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

// Copies 4, 8 or 16 bytes, both places aligned to as many; the last `zfill` of them become 0 and are not read.
CUDA_EMU_TRACED void __pipeline_memcpy_async(void* __restrict__ dst_shared, const void* __restrict__ src_global,
                                             std::size_t size_and_align, std::size_t zfill = 0, CUDA_EMU_HERE) {
  cuda_emu::copy_async(dst_shared, src_global, size_and_align, zfill, {"__pipeline_memcpy_async", file, line});
#ifdef CUDA_EMU_TRACE
  cuda_emu::trace_async_copy(dst_shared, src_global, size_and_align, zfill, __builtin_return_address(0));
#endif
}

// The thread's copies since the last commit become a batch, perhaps an empty one.
inline void __pipeline_commit(CUDA_EMU_HERE) { cuda_emu::commit_copies({"__pipeline_commit", file, line}); }

// Waits for the thread's own batches, all but the last `prior` of them. What was not committed is not waited for, nor
// are the other threads' copies.
inline void __pipeline_wait_prior(std::size_t prior, CUDA_EMU_HERE) {
  cuda_emu::wait_for_copies(prior, {"__pipeline_wait_prior", file, line});
}
