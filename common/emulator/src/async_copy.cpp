#include "async_copy.hpp"

#include <cstdio>
#include <cstring>

#include "cuda_pipeline.h"
#include "scheduler.hpp"

namespace cuda_emu {

void AsyncCopies::copy(void* to, const void* from, std::size_t size, std::size_t zeros) {
  if (zeros < size) memcpy(to, from, size - zeros);  // `from` may be null if no bytes are read
  memset(static_cast<char*>(to) + (size - zeros), 0, zeros);
}

void AsyncCopies::finish(unsigned thread, std::size_t batches_left) {
  Queue& queue = of(thread);
  std::size_t done = 0;
  while (done < queue.copies.size() && queue.copies[done].batch + batches_left < queue.batch) {
    const Copy& c = queue.copies[done++];
    copy(c.to, c.from, c.size, c.zeros);
    current_worker->trace.copied(c.to, c.size);
  }
  queue.copies.erase(queue.copies.begin(), queue.copies.begin() + static_cast<std::ptrdiff_t>(done));
}

void copy_async(void* to, const void* from, std::size_t size, std::size_t zeros, const Where& where) {
  Worker& worker = active_worker(where.what);
  const auto fail = [&](const char* cause, const char* problem, cudaError_t error = cudaErrorLaunchFailure) {
    char text[200];
    snprintf(text, sizeof text, "__pipeline_memcpy_async at %s:%d: %s", where.file, where.line, problem);
    worker.fail({cause, text, place(where)}, error);
  };
  if (size != 4 && size != 8 && size != 16) fail("launch", "copies 4, 8 or 16 bytes, no other number");
  if (zeros > size) fail("launch", "more zeros than bytes");
  if (reinterpret_cast<std::uintptr_t>(to) % size != 0)
    fail("misaligned", "misaligned address in shared memory", cudaErrorMisalignedAddress);
  if (reinterpret_cast<std::uintptr_t>(from) % size != 0)
    fail("misaligned", "misaligned address in global memory", cudaErrorMisalignedAddress);
  if (!worker.shared.contains(to, size)) fail("address", "the destination is not in shared memory");
  if (worker.copies_now()) return AsyncCopies::copy(to, from, size, zeros);
  worker.async_copies.add(worker.current_thread(), to, from, size, zeros);
}

void commit_copies(const Where& where) {
  Worker& worker = active_worker(where.what);
  worker.async_copies.commit(worker.current_thread());
}

void wait_for_copies(std::size_t batches_left, const Where& where) {
  Worker& worker = active_worker(where.what);
  worker.async_copies.finish(worker.current_thread(), batches_left);
}

}  // namespace cuda_emu
