// Problem:  step 02 reads the row twice.
// Idea:     keep it in dynamic shared memory, 57,000 floats: read once, written once. A thread reads back only what it
//           stored, so only the merge needs a barrier. The maximum is known first again: one exp per element.
// Expect:   1.2 to 1.7x step 02, 0.6 to 0.8 of a copy at 4096x50257: one block per SM. Slower at 1024x128256, where 16
//           warps per SM read the rest. 1.2 to 1.8x at 32768x1024: blocks of 128 threads with eight loads each.
// Measured: 1.60x step 02, 0.61 of a copy at 4096x50257 (H200).
// Next:     rows of 50257 start anywhere between two multiples of 16 bytes. How do they get float4?
#include "cross_entropy_grad.cuh"
#include "../online_softmax.cuh"

// Returns the threads per block. Short rows get fewer, so that each thread still has several loads in flight.
static int block_for(std::size_t cols) { return cols <= 1024 ? 128 : 512; }

// The first `held` elements of the row stay in shared memory.
template <int kBlock>
__global__ void cross_entropy_grad_shared(const float* __restrict__ x, const int* __restrict__ target,
                                          float* __restrict__ dx, std::size_t cols, int held, float scale) {
  extern __shared__ float row[];
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;

  // load, and the maximum
  float max = -INFINITY;
#pragma unroll 8
  for (int j = tid; j < held; j += kBlock) {
    row[j] = x[j];
    max = fmaxf(max, row[j]);
  }

  // sum: the held elements, then the rest by the online rule
  MaxSum s = {max, 0.0f};
  for (int j = tid; j < held; j += kBlock) s.sum += expf(row[j] - shift_for(max));
  for (std::size_t j = held + tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);

  // store: the thread that has the target's element subtracts the 1
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);
  const float inverse = 1.0f / s.sum, factor = t < cols ? scale : NAN;
  const auto grad = [&](std::size_t j, float v) {
    return (expf(v - s.max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
  };
  for (int j = tid; j < held; j += kBlock) dx[j] = grad(j, row[j]);
  for (std::size_t j = held + tid; j < cols; j += kBlock) dx[j] = grad(j, x[j]);
}

// Returns how many elements of a row fit in a block's shared memory, less 1 KB for block_merge.
static int held_of(std::size_t cols) {
  const std::size_t bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10);
  return static_cast<int>(std::min(cols, bytes / sizeof(float)));
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  const int held = held_of(cols), bytes = held * static_cast<int>(sizeof(float)), block = block_for(cols);
  const auto kernel = block == 128 ? cross_entropy_grad_shared<128> : cross_entropy_grad_shared<512>;
  // more than 48 KB of dynamic shared memory needs an explicit opt-in
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(rows), block, bytes>>>(x, target, dx, cols, held, scale);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse, product. Denominator: exp and additions of what is held; 6 per merge; 20 over the block.
static std::size_t roundings(std::size_t cols) {
  const std::size_t held = held_of(cols), block = block_for(cols);
  return 6 + 4 + ceil_div(held, block) + 6 * (ceil_div(cols - held, block) + 1) + 20;
}

LADDER_STEP(CrossEntropyGrad, launch, roundings);
