// Step 01 ties the grid to n. Idea: the grid-stride loop. A fixed grid that fills the GPU walks over any n; the body is
// the same, and it runs correctly even with <<<1, 1>>>, which is handy in a debugger.
// Expect: no gain; a few per cent may be lost, for a thread's next load waits on the loop, where step 01 had a fresh
// block with loads of its own. It buys flexibility, not speed.
// Next question: the accesses are coalesced; why would float4 help at all?
#include "add.cuh"

__global__ void add_grid_stride(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                std::size_t n) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    c[i] = a[i] + b[i];
  }
}

static void launch(const float* a, const float* b, float* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const std::size_t resident = resident_blocks(add_grid_stride, block);
  const auto grid = static_cast<unsigned>(std::min(ceil_div(n, block), resident));
  add_grid_stride<<<grid, block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add, launch);
