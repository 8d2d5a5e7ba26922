// Problem:  a thread of step 03 moves 4 bytes per access.
// Idea:     split each row at its own 16-byte boundaries: up to 3 elements before and 3 after are edges, one for each
//           of six threads, kept in registers. Between them are aligned float4, in shared memory.
// Expect:   1.1 to 1.3x step 03, 0.65 to 0.85 of a copy at 4096x50257: one block per SM, so loads and stores alternate.
//           0.9 to 1.2x at 16384x4096. Less if x and dx have different alignments, because it then stores floats.
// Measured: 1.14x step 03, 0.69 of a copy at 4096x50257 (H200).
// Next:     128256 logits are 513 KB. Which cluster holds them? (One of four blocks, as in row_softmax 08.)
#include "cross_entropy_grad.cuh"
#include "../float4_row.cuh"
#include "peeled.cuh"

// Returns the threads per block. Short rows get fewer, so that each thread still has several loads in flight.
static int block_for(std::size_t cols) { return cols <= 1024 ? 64 : cols <= 4096 ? 256 : 512; }

// The first `most` float4 of the row, or all, stay in shared memory.
template <int kBlock>
__global__ void cross_entropy_grad_float4(const float* __restrict__ x, const int* __restrict__ target,
                                          float* __restrict__ dx, std::size_t cols, int most, float scale) {
  extern __shared__ float4 row[];
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  const Peeled<> peeled(x, cols);
  const float4* x4 = reinterpret_cast<const float4*>(x + peeled.head);
  const int held = static_cast<int>(min(peeled.units, static_cast<std::size_t>(most)));

  // load, and the maximum
  const std::size_t at = peeled.edge(tid, cols);
  const float edge = at < cols ? x[at] : -INFINITY;
  float max = edge;
#pragma unroll 4
  for (int i = tid; i < held; i += kBlock) {
    row[i] = x4[i];
    max = fmaxf(max, max4(row[i]));
  }

  // sum: the held elements, then the rest by the online rule
  MaxSum s = {max, expf(edge - shift_for(max))};
  for (int i = tid; i < held; i += kBlock) s.sum += sum4(exp4(row[i], shift_for(max)));
  for (std::size_t i = held + tid; i < peeled.units; i += kBlock) s = merge(s, pair_of(x4[i]));
  s = block_merge(s);

  // store: the thread that has the target's element subtracts the 1
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);
  const float inverse = 1.0f / s.sum, factor = t < cols ? scale : NAN;
  const auto grad = [&](std::size_t j, float v) {
    return (expf(v - s.max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
  };
  const auto put = [&](std::size_t i, float4 v) {
    const std::size_t j = peeled.head + 4 * i;
    store_unit(dx + j, {grad(j, v.x), grad(j + 1, v.y), grad(j + 2, v.z), grad(j + 3, v.w)}, alike(x, dx));
  };
  if (at < cols) dx[at] = grad(at, edge);
  for (int i = tid; i < held; i += kBlock) put(i, row[i]);
  for (std::size_t i = held + tid; i < peeled.units; i += kBlock) put(i, x4[i]);
}

// Returns how many float4 fit in a block's shared memory, less 1 KB for block_merge.
static int most_held() {
  return (device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10)) / static_cast<int>(sizeof(float4));
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  const int most = static_cast<int>(std::min<std::size_t>(cols / 4, most_held()));
  const int bytes = most * static_cast<int>(sizeof(float4)), block = block_for(cols);
  const auto kernel = block == 64    ? cross_entropy_grad_float4<64>
                      : block == 256 ? cross_entropy_grad_float4<256>
                                     : cross_entropy_grad_float4<512>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(rows), block, bytes>>>(x, target, dx, cols, most, scale);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse, product. Denominator: exp, the edge, 2 levels and an addition for each float4 held; 8 per
// merge of a float4; 20 over the block.
static std::size_t roundings(std::size_t cols) {
  const std::size_t held = std::min<std::size_t>(cols / 4, most_held()), block = block_for(cols);
  return 6 + 4 + 1 + 2 + ceil_div(held, block) + 8 * (ceil_div(cols / 4 - held, block) + 1) + 20;
}

LADDER_STEP(CrossEntropyGrad, launch, roundings);
