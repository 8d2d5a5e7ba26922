// Step 09 makes every block wait at a barrier. Idea: nobody waits. Each block writes its partial sum and takes a
// ticket; the block that draws the last one knows that all partial sums are written, and adds them up. One ordinary
// launch. Two things must be right. __threadfence() between the partial sum and the ticket: whoever sees the ticket
// must see the sum. And the counter must be 0 again for the next launch: atomicInc wraps it by itself. The partial sums
// are added in a fixed order, whichever block comes last: the same bits every run, where one atomicAdd per block would
// give different ones.
// Expect: the second launch or the grid barrier saved, a few microseconds; that counts for small arrays.
// Next question: what is __threadfence() not? (A barrier. It orders this thread's writes and waits for nobody.)
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 256;

static __device__ unsigned blocks_done;  // 0 between launches; one launch at a time may use it

__global__ void sum_last_block(const float* __restrict__ x, float* sums, float* __restrict__ out, std::size_t n,
                               bool aligned) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;

  float sum = 0.0f;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0;
  for (std::size_t i = thread; i < n4; i += threads) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t i = 4 * n4 + thread; i < n; i += threads) sum += x[i];

  sum = block_sum<kBlock>(sum);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;  // the whole block agrees

  __threadfence();  // the ticket was seen before the sums below are read
  sum = 0.0f;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) sum += __ldcg(sums + b);  // from L2: L1 is not coherent
  sum = block_sum<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(sum_last_block, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  sum_last_block<<<grid, kBlock>>>(x, scratch<float>(grid), out, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

// The thread's chain, longest if x is not aligned, and 5 + 3 levels of tree; the same again for the partial sums.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Sum, launch, height);
