// Problem:  step 04 reads x twice.
// Idea:     a block keeps its whole channel in dynamic shared memory, up to 57,000 floats: one read, one kernel.
//           Elements that do not fit are read twice.
// Expect:   1.1 to 1.5x step 04 at 128x1024x196 (channels of 100 KB, two blocks per SM) and at 256x2048x49, where four
//           fit. Slower than step 04 at 32x256x3136 and 64x64x12544: long channels, one block of 16 warps per SM.
// Measured: 0.85x step 04, 0.95x cuDNN at 32x256x3136 (H200).
// Next:     what do the blocks of a cluster exchange if they share a channel? (Moments, by distributed shared memory.)
#include "batch_norm.cuh"
#include "channel_elements.cuh"
#include "../moments.cuh"

constexpr int kBlock = 512, kWarps = kBlock / 32, kBatch = 8;
constexpr int kTurn = kBatch * kBlock;  // elements per load of the block

// Returns the moments of a batch. Its size is a power of two, so the compiler turns the division into an exact product.
__device__ static Moments moments_of(const float (&v)[kBatch]) {
  float sum = 0.0f, squares = 0.0f;
  for (int k = 0; k < kBatch; ++k) sum += v[k];
  const float mean = sum / kBatch;
  for (int k = 0; k < kBatch; ++k) squares += (v[k] - mean) * (v[k] - mean);
  return {kBatch, mean, squares};
}

// Merges over the block and returns the result to all threads. All threads must call it, only once.
__device__ static Moments block_merge(Moments m) {
  __shared__ Moments warps[kWarps];
  m = warp_merge(m);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = m;
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  return warp_merge(lane < kWarps ? warps[lane] : Moments{0.0f, 0.0f, 0.0f});
}

// The first `held` elements of the channel stay in shared memory. A thread reads only elements that it stored.
__global__ void batch_norm_shared(const float* __restrict__ x, const float* __restrict__ gamma,
                                  const float* __restrict__ beta, float* __restrict__ y, float* __restrict__ mean,
                                  float* __restrict__ rstd, std::size_t count, std::size_t hw, std::size_t held,
                                  float epsilon) {
  extern __shared__ float kept[];
  const std::size_t channel = blockIdx.x;
  const float g = gamma[channel], b = beta[channel];

  // mean and variance
  Moments m = {0.0f, 0.0f, 0.0f};
  const auto keep = [=](std::size_t number, float v) {
    if (number < held) kept[number] = v;
  };
  ChannelElement<kBlock> e(threadIdx.x, channel, gridDim.x, hw);
  while (e.number + (kTurn - kBlock) < count) {
    const std::size_t first = e.number;
    float v[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k, e.advance()) v[k] = x[e.at];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) keep(first + k * kBlock, v[k]);
    m = merge(m, moments_of(v));
  }
  for (; e.number < count; e.advance()) {  // less than a batch
    keep(e.number, x[e.at]);
    m = update(m, x[e.at]);
  }
  m = block_merge(m);
  const float factor = rsqrtf(m.squares / static_cast<float>(count) + epsilon);

  // scale, shift, store
  for (ChannelElement<kBlock> o(threadIdx.x, channel, gridDim.x, hw); o.number < count; o.advance()) {
    y[o.at] = ((o.number < held ? kept[o.number] : x[o.at]) - m.mean) * factor * g + b;
  }
  if (threadIdx.x == 0) mean[channel] = count > 0 ? m.mean : NAN, rstd[channel] = factor;
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd,
                   std::size_t n, std::size_t c, std::size_t hw, float epsilon) {
  if (c == 0) return;  // a grid of 0 blocks is an error
  const std::size_t most =
      device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10);  // 1 KB for block_merge
  const std::size_t held = std::min(n * hw, most / sizeof(float));
  const auto bytes = static_cast<int>(held * sizeof(float));
  CUDA_CHECK(cudaFuncSetAttribute(batch_norm_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  batch_norm_shared<<<static_cast<unsigned>(c), kBlock, bytes>>>(x, gamma, beta, y, mean, rstd, n * hw,
                                                                 std::max<std::size_t>(hw, 1), held, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's batches and up to 7 updates, 7 additions in a batch; a batch's squares, 5 levels of a warp's tree and 4
// over the warps.
static std::size_t roundings(std::size_t n, std::size_t hw) {
  return BatchNorm::welford(ceil_div(n * hw, kTurn) + 7 + 7, 1 + 9);
}

LADDER_STEP(BatchNorm, launch, roundings);
