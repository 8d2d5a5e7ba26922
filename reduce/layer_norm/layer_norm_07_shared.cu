// Problem:  a warp's registers hold a row of at most 1024 elements.
// Idea:     one block per row, with the row in dynamic shared memory: 57,000 floats. Only the two sums need barriers.
// Expect:   0.9 to 1.0 of a copy at 8192x8192, and up to 28,000 columns, where two blocks fit on an SM.
// Measured: 3.98x step 06, 0.92 of a copy at 8192x8192 (H200); 3.30x, 0.98 (H100).
// Why: shorter rows are slower: at 4096 columns 512 threads and four barriers serve two float4 each (hypothesis).
// Next:     what could the block reuse for a second row? (gamma and beta.)
#include "../norm_float4.cuh"
#include "layer_norm.cuh"

constexpr int kBlock = 512;
constexpr unsigned kChunk = 4 * kBlock;  // elements per load of the block, four per thread

// Returns the sum over the block to all threads. All threads must call it.
__device__ static float block_sum(float v) {
  __shared__ float warps[kBlock / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  __syncthreads();  // all threads have read the previous call's sums
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = lane < kBlock / 32 ? warps[lane] : 0.0f;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// The first `chunks` chunks of the row stay in shared memory.
template <bool kAligned>
__global__ void layer_norm_shared(const float* __restrict__ x, const float* __restrict__ gamma,
                                  const float* __restrict__ beta, float* __restrict__ y, unsigned cols, unsigned chunks,
                                  float epsilon) {
  extern __shared__ float4 row[];  // [chunk][thread]
  const unsigned tid = threadIdx.x, first = kAligned ? 4 * tid : tid;
  x += blockIdx.x * std::size_t{cols};
  y += blockIdx.x * std::size_t{cols};

  // load
#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) row[k * kBlock + tid] = load4<kAligned, kBlock>(x, k * kChunk + first, cols);

  // mean
  float sum = 0.0f;
  for (unsigned k = 0; k < chunks; ++k) sum += sum4(row[k * kBlock + tid]);
  for (unsigned c = chunks * kChunk + tid; c < cols; c += kBlock) sum += x[c];
  const float mean = block_sum(sum) / cols;

  // variance
  float squares = 0.0f;
  for (unsigned k = 0; k < chunks; ++k) {
    squares += squares4<kAligned, kBlock>(row[k * kBlock + tid], mean, k * kChunk + first, cols);
  }
  for (unsigned c = chunks * kChunk + tid; c < cols; c += kBlock) squares += (x[c] - mean) * (x[c] - mean);
  const float factor = rsqrtf(block_sum(squares) / cols + epsilon);

  // scale, shift, store
  for (unsigned k = 0; k < chunks; ++k) {
    const unsigned c = k * kChunk + first;
    const float4 g = load4<kAligned, kBlock>(gamma, c, cols), b = load4<kAligned, kBlock>(beta, c, cols);
    store4<kAligned, kBlock>(y, c, cols, normalise4(row[k * kBlock + tid], mean, factor, g, b));
  }
  for (unsigned c = chunks * kChunk + tid; c < cols; c += kBlock) y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}

// Returns the chunks that fit in shared memory: at most 227 KB, as a driver has reported more; 1 KB is for `warps`.
static std::size_t chunks_of(std::size_t cols) {
  const int bytes = std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10) - (1 << 10);
  const std::size_t most = bytes / (kBlock * sizeof(float4));
  return std::min(ceil_div(cols, std::size_t{kChunk}), most);
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto chunks = static_cast<unsigned>(chunks_of(cols));
  const bool aligned = aligned_for<float4>(x, gamma, beta, y) && cols % 4 == 0;
  const auto kernel = aligned ? layer_norm_shared<true> : layer_norm_shared<false>;
  // more than 48 KB of dynamic shared memory needs an explicit opt-in
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(rows), kBlock, bytes>>>(x, gamma, beta, y, static_cast<unsigned>(cols), chunks,
                                                         epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's additions: a float4 at a time if kept, else one element; 2 levels in a float4, 5 in a warp, 4 over warps.
static std::size_t roundings(std::size_t cols) {
  return LayerNorm::two_passes(ceil_div(cols, std::size_t{kBlock}) + 1 + 2 + 9);
}

LADDER_STEP(LayerNorm, launch, roundings);
