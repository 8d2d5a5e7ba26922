// bug: threads that are done return, but the barrier still counts them, so the first round never ends
// caught by: cpu | wait for others
// caught by: gpu | did not end
// stage: launches and ends
#include "../sum_of_squares.cuh"

#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init  // init() sets the barrier

constexpr unsigned kBlock = 256, kBlocks = 128;

__global__ void sum_of_squares_left(const int* __restrict__ x, std::int64_t* __restrict__ partials,
                                    std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const unsigned tid = threadIdx.x;

  // load: a grid-stride loop
  const std::size_t thread = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];

  // reduce within the block
  __shared__ std::int64_t tile[kBlock];
  __shared__ cuda::barrier<cuda::thread_scope_block> stored;
  if (tid == 0) init(&stored, kBlock);
  __syncthreads();
  tile[tid] = sum;
  for (unsigned offset = kBlock / 2; offset > 0; offset /= 2) {
    if (tid >= offset) return;  // must call arrive_and_drop() first
    stored.arrive_and_wait();
    tile[tid] += tile[tid + offset];
  }

  // store: only thread 0 is left
  partials[blockIdx.x] = tile[0];
  clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* partials = scratch<std::int64_t>(kBlocks);
  sum_of_squares_left<<<kBlocks, kBlock>>>(x, partials, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(partials, kBlocks, out);
}

LADDER_STEP(SumOfSquares, launch);
