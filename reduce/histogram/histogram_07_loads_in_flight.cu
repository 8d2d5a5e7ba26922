// Problem:  in step 06 a thread has 16 bytes in flight: 32 KB per SM, where latency x bandwidth is 33 KB.
// Idea:     two uint4 per thread and trip, both loaded before either is counted. Evict-first, because x is used once.
// Expect:   1.03 to 1.1x step 06 at 2^28; less at 2^24, which is two trips per thread.
// Measured: 1.06x step 06, 1.74x CUB at 2^28 (H200).
// Next:     what is the limit now? (Memory; the atomics take about as long, computed.)
#include "histogram.cuh"
#include "peeled.cuh"

constexpr int kBlock = 1024;

__device__ static void count16(int* copy, uint4 v) {
  for (const unsigned word : {v.x, v.y, v.z, v.w}) {
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8) atomicAdd(copy + 32 * (word >> shift & 255), 1);
  }
}

__global__ void histogram_loads_in_flight(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  __shared__ int copies[kBins * 32];
  int* const copy = copies + threadIdx.x % 32;
  for (int b = threadIdx.x; b < kBins * 32; b += kBlock) copies[b] = 0;
  __syncthreads();
  const std::size_t first = std::size_t{blockIdx.x} * kBlock + threadIdx.x, stride = std::size_t{gridDim.x} * kBlock;
  const Peeled<16, std::uint8_t> part(x, n);
  const auto* body = reinterpret_cast<const uint4*>(x + part.head);
  if (const std::size_t edge = part.edge(first, n); edge < n) atomicAdd(copy + 32 * x[edge], 1);
  std::size_t i = first;
  for (; i + stride < part.units; i += 2 * stride) {
    const uint4 v = __ldcs(body + i), w = __ldcs(body + i + stride);
    count16(copy, v);
    count16(copy, w);
  }
  if (i < part.units) count16(copy, __ldcs(body + i));
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += kBlock) {
    int sum = 0;
    for (int lane = 0; lane < 32; ++lane)
      sum += copies[32 * b + (lane + b) % 32];  // each thread starts in a different bank
    if (sum > 0) atomicAdd(counts + b, sum);
  }
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof(int)));
  if (n == 0) return;
  const std::size_t blocks = std::min(resident_blocks(histogram_loads_in_flight, kBlock), ceil_div(n, 16 * kBlock));
  histogram_loads_in_flight<<<static_cast<unsigned>(blocks), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
