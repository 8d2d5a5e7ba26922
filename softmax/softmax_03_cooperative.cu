// Step 02 ends a kernel only to know that all blocks have stored their pairs. Idea: a cooperative launch. All its
// blocks are on the GPU at the same time, or the launch is refused, so grid.sync() can be a barrier for all of them. It
// also orders memory: what a block wrote before it, every block reads after it.
// Expect: a microsecond or two, as one launch is saved and a grid barrier costs about as much as it saves. The gain is
// what it makes possible: whatever a thread has in registers outlives the barrier, and no kernel's end.
// Next question: so what should a thread keep?
#include "softmax.cuh"
#include "online.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 256;

// `pairs` has room for one per block. It is not const __restrict__: blocks read what others have written meanwhile.
__global__ void softmax_cooperative(const float* __restrict__ x, float* __restrict__ y, std::size_t n, MaxSum* pairs) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = first; i < n; i += threads) s = merge(s, {x[i], 1.0f});
  s = block_merge<kBlock / 32>(s);
  if (threadIdx.x == 0) pairs[blockIdx.x] = s;

  cg::this_grid().sync();  // every block has stored its pair, and every block sees all of them

  s = {-INFINITY, 0.0f};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge<kBlock / 32>(s);
  for (std::size_t i = first; i < n; i += threads) y[i] = expf(x[i] - s.max) / s.sum;
}

// More blocks than fit on the GPU at once would wait for each other for ever; the launch refuses them.
static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::min(ceil_div(n, kBlock), resident_blocks(softmax_cooperative, kBlock)));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = grid_size(n);
  MaxSum* pairs = scratch<MaxSum>(grid);
  void* arguments[] = {&x, &y, &n, &pairs};
  CUDA_CHECK(cudaLaunchCooperativeKernel(softmax_cooperative, dim3(grid), dim3(kBlock), arguments, 0, nullptr));
}

// exp and division above; below exp, product and addition for each merge: in a thread, 5 and 5 in the block, over the
// blocks' pairs in a thread, and 5 and 5 again.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u);
  return 5 + 6 * (ceil_div(n, grid * kBlock) + 10 + ceil_div(grid, kBlock) + 10);
}

LADDER_STEP(Softmax, launch, roundings);
