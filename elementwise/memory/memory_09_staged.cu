// Problem:  step 08 pins every page for one copy. In step 01 the driver stages the data, with one CPU thread.
// Idea:     stage by hand, with four threads. Each takes every fourth chunk of 1 MB through a pinned chunk of its own;
//           while a copy engine moves the chunk of one, the CPU copies those of the others.
// Expect:   1.5 to 3x step 01 at 2^26, where one thread's copies are the limit, and less at 2^20, where starting four
//           threads takes as long as a quarter of the copy.
// Measured: 2.70x step 08, 0.20 of the link at 2^26 (H200); 2.35x, 0.22 (H100).
// Next:     when would you do this rather than pin the data?
#include "../stream_handles.cuh"
#include "memory.cuh"

#include <future>

constexpr std::size_t kThreads = 4, kChunk = 1 << 18;  // floats

// Calls move(begin, count, chunk, stream) for n floats in four threads, each with a pinned chunk and a stream.
template <typename Move>
static void in_threads(std::size_t n, Move move) {
  static float* chunks = nullptr;  // never freed
  if (!chunks) CUDA_CHECK(cudaMallocHost(&chunks, kThreads * kChunk * sizeof(float)));
  std::future<void> done[kThreads];
  for (std::size_t t = 0; t < kThreads; ++t) {
    done[t] = std::async(std::launch::async, [=, stream = stream_number(t)] {
      for (std::size_t begin = t * kChunk; begin < n; begin += kThreads * kChunk) {
        move(begin, std::min(kChunk, n - begin), chunks + t * kChunk, stream);
      }
    });
  }
  for (std::future<void>& one : done) one.get();  // rethrows the thread's exception
}

static void copy_in(const float* x, float* z, std::size_t n) {
  in_threads(n, [=](std::size_t begin, std::size_t count, float* chunk, cudaStream_t stream) {
    std::copy_n(x + begin, count, chunk);
    CUDA_CHECK(cudaMemcpyAsync(z + begin, chunk, count * sizeof(float), cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));  // the chunk is free
  });
}

static void copy_out(const float* z, float* y, std::size_t n) {
  in_threads(n, [=](std::size_t begin, std::size_t count, float* chunk, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(chunk, z + begin, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));  // the chunk is filled
    std::copy_n(chunk, count, y + begin);
  });
}

// x and y are pageable: x = malloc(n * sizeof(float)), free(x).
LADDER_STEP(Transfer, ladder::Place::pageable, copy_in, copy_out);
