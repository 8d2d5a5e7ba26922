// Problem:  a warp's registers hold a row of 1024, no more.
// Idea:     one block per row, held in dynamic shared memory: 57,000 floats. A thread reads back only what it stored,
//           so only the merge of the warps' pairs (max, sum) needs a barrier.
// Expect:   0.6 to 0.9 of a copy at 16384x4096, more up to 28,000 columns, where two rows fit on an SM; less beyond.
// Measured: 2.27x step 06, 0.85x cuDNN at 16384x4096 (H200); 2.15x, 0.87x (H100).
// Why:      0.36 of a copy at 1024 (H200): a row takes 5 to 6 ns, however short, for 512 threads to start and merge.
// Next:     what if there are only 64 rows, of 2^20 elements each?
#include "row_softmax.cuh"
#include "../float4_row.cuh"

constexpr int kBlock = 512;
constexpr std::size_t kChunk = 4 * kBlock;  // elements that the block loads at once, four for each thread

// The first `chunks` chunks of the row stay in shared memory.
template <bool kAligned>
__global__ void row_softmax_shared(const float* __restrict__ x, float* __restrict__ y, std::size_t cols,
                                   unsigned chunks) {
  extern __shared__ float4 row[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t first = kAligned ? 4 * tid : tid;  // the thread's first element in a chunk
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;

  // load
#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) row[k * kBlock + tid] = load4<kAligned>(x, k * kChunk + first, cols, kBlock);

  // reduce: the maximum of the held elements, then one exp for each; the remainder by the online rule
  float max = -INFINITY;
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(row[k * kBlock + tid]));
  MaxSum s = {max, 0.0f};
  for (unsigned k = 0; k < chunks; ++k) {
    s.sum += sum4(exp4(row[k * kBlock + tid], shift_for(max)));
  }
  for (std::size_t j = chunks * kChunk + tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);

  // store
  const float inverse = 1.0f / s.sum;
  for (unsigned k = 0; k < chunks; ++k) {
    store4<kAligned, kEvictFirst>(y, k * kChunk + first, cols, kBlock, exp4(row[k * kBlock + tid], s.max, inverse));
  }
  for (std::size_t j = chunks * kChunk + tid; j < cols; j += kBlock) y[j] = expf(x[j] - s.max) * inverse;
}

// Returns how many chunks of a row fit in a block's shared memory.
static std::size_t chunks_of(std::size_t cols) {
  // 227 KB is the largest limit of today's GPUs; 1 KB is for block_merge
  const int bytes = std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10) - (1 << 10);
  const std::size_t most = bytes / (kBlock * sizeof(float4));
  return std::min(ceil_div(cols, kChunk), most);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto chunks = static_cast<unsigned>(chunks_of(cols));
  const auto kernel = aligned_for<float4>(x, y) && cols % 4 == 0 ? row_softmax_shared<true> : row_softmax_shared<false>;
  // more than 48 KB of dynamic shared memory needs an explicit opt-in
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(rows), kBlock, bytes>>>(x, y, cols, chunks);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse, product. Denominator: exp and additions of what is held; 6 per merge; 20 over the block.
static std::size_t roundings(std::size_t cols) {
  const std::size_t chunks = chunks_of(cols), remainder = cols - std::min(cols, chunks * kChunk);
  return 6 + 4 + 2 + chunks + 6 * ceil_div(remainder, kBlock) + 20;
}

LADDER_STEP(RowSoftmax, launch, roundings);
