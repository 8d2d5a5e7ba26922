// Registers of a warp hold a row of 1024, and no more. Idea: a block for each row, and the row in shared memory, which
// has room for 57,000 floats on an H100. Each thread reads back only what it stored itself, so the copy needs no
// barrier; the one barrier left is between the warps' pairs and their merge, which every warp does for itself.
// More than 48 KB must be asked for: cudaFuncSetAttribute. Only what is longer than shared memory is read again.
// Expect: close to a copy for rows of 1024 up to some 26,000, of which two fit on a multiprocessor; then less, as one
// block's loading, waiting and storing do not overlap with another's.
// Next question: a row of 2^20 elements, and only 64 of them? (Split each over several blocks: step 08.)
#include "row_softmax.cuh"
#include "float4_row.cuh"

constexpr int kBlock = 512;
constexpr std::size_t kChunk = 4 * kBlock;  // elements that the block loads at once, four for each thread

// The first `chunks` chunks of the row stay in shared memory.
template <bool vector>
__global__ void row_softmax_shared(const float* __restrict__ x, float* __restrict__ y, std::size_t cols,
                                   unsigned chunks) {
  extern __shared__ float4 kept[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t mine = vector ? 4 * tid : tid;  // this thread's place in a chunk
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;

#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) kept[k * kBlock + tid] = load4<vector>(x, k * kChunk + mine, cols, kBlock);
  float max = -INFINITY;
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(kept[k * kBlock + tid]));
  MaxSum s = {max, 0.0f};
  for (unsigned k = 0; k < chunks; ++k) {
    s.sum += sum4(exp4(kept[k * kBlock + tid], shift_for(max)));
  }
  for (std::size_t j = chunks * kChunk + tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge_once<kBlock / 32>(s);

  const float inverse = 1.0f / s.sum;
  for (unsigned k = 0; k < chunks; ++k) {
    store4<vector, kStreaming>(y, k * kChunk + mine, cols, kBlock, exp4(kept[k * kBlock + tid], s.max, inverse));
  }
  for (std::size_t j = chunks * kChunk + tid; j < cols; j += kBlock) y[j] = expf(x[j] - s.max) * inverse;
}

static std::size_t chunks_of(std::size_t cols) {
  const int bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10);  // 1 KB for `warps`
  const std::size_t most = bytes / (kBlock * sizeof(float4));
  return std::min(ceil_div(cols, kChunk), most);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto chunks = static_cast<unsigned>(chunks_of(cols));
  const auto kernel = aligned_for<float4>(x, y) && cols % 4 == 0 ? row_softmax_shared<true> : row_softmax_shared<false>;
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(rows), kBlock, bytes>>>(x, y, cols, chunks);
  CUDA_CHECK(cudaGetLastError());
}

// exp, inverse and product above; below, exp and additions of what is kept, then exp, product and addition for each
// merge: those of the rest, then 5 and 5.
static std::size_t roundings(std::size_t cols) {
  const std::size_t chunks = chunks_of(cols), rest = cols - std::min(cols, chunks * kChunk);
  return 6 + 4 + 2 + chunks + 6 * (ceil_div(rest, kBlock) + 10);
}

LADDER_STEP(RowSoftmax, launch, roundings);
