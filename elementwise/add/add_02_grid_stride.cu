// Problem:  step 01 needs a grid that fits n.
// Idea:     a grid-stride loop. A grid that just fills the GPU works for any n, and so does <<<1, 1>>> (for debugging).
// Expect:   0.95 to 1.0x step 01. The loop isn't for speed: a thread's next load follows its store in order.
// Measured: 1.05x step 01, 0.83x Thrust at 2^28 (H200); 0.99x, 0.90x (H100).
// Why:      no block starts after the first wave: 96 % of the warps are resident, 74 % in step 01 (ncu, H200).
// Next:     the accesses are coalesced. Why would float4 help at all?
#include "add.cuh"

__global__ void add_grid_stride(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    c[i] = a[i] + b[i];
  }
}

static void launch(const float* a, const float* b, float* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const std::size_t resident = resident_blocks(add_grid_stride, block);
  const unsigned grid = std::min(ceil_div(n, block), resident);
  add_grid_stride<<<grid, block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add, launch);
