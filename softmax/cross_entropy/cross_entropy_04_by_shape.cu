// Problem:  step 03 gives each row a block: five rows of 53 million fill 5 of 132 SMs, and two elements get 32 threads.
// Idea:     cut long rows into splits that fill the GPU; a second kernel merges their pairs (max, sum). Tiles of short
//           rows pass through shared memory, one thread or a few per row. The rule: cross_entropy_shapes.hpp.
// Expect:   0.85 to 0.95 of a read from 129 elements on. 0.6 to 0.9 for shorter rows, which fill the issue slots.
// Measured: 0.99x step 03, 0.95 of a read at 4096x50257 (H200).
// Why:      these rows suit step 03. At 8x8000009 and 2^22x10 it is 10 and 39x step 03; issue slots do not limit it.
// Next:     the gradient is softmax - one hot. What would storing it in the same kernel cost? (A write of all of x.)
#include "cross_entropy.cuh"
#include "cross_entropy_short.cuh"
#include "../float4_row.cuh"
#include "peeled.cuh"

constexpr int kLoads = 4;  // float4 in flight per thread
constexpr unsigned kMergeBlock = 128;
constexpr unsigned block_of(unsigned threads) { return threads < 128 ? 128 : threads; }  // for several rows, or for one

// kThreads threads for each row, or for its part blockIdx.y: the elements from blockIdx.y * part_cols on. Stores the
// loss if there is one part, else the part's pair.
template <unsigned kThreads, unsigned kBlock = block_of(kThreads)>
__global__ void __launch_bounds__(kBlock)
    cross_entropy_rows(const float* __restrict__ x, const int* __restrict__ target, float* __restrict__ loss,
                       MaxSum* __restrict__ pairs, std::size_t rows, std::size_t cols, unsigned part_cols) {
  const unsigned t = threadIdx.x % kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * (kBlock / kThreads) + threadIdx.x / kThreads;
  const std::size_t begin = std::size_t{blockIdx.y} * part_cols;
  const auto left = static_cast<unsigned>(min(cols - begin, std::size_t{part_cols}));
  const unsigned length = row < rows ? left : 0;  // no return: all threads must reach shuffles and barrier
  const int wanted = row < rows ? target[row] : -1;
  x += row * cols;
  const Peeled<> part(x + begin, length);
  const float4* const x4 = reinterpret_cast<const float4*>(x + begin + part.head);
  const auto units = static_cast<unsigned>(part.units), at = static_cast<unsigned>(part.edge(t, length));
  const float edge = at < length ? x[begin + at] : -INFINITY;  // before the float4, or after them

  // load: kLoads float4 at a time, the last ones too; one maximum and one rescaling for all of them
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned i = t; i < units; i += kLoads * kThreads) {
    const float4* const from = x4 + i;
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = i + k * kThreads < units ? from[k * kThreads] : none;
    float max = s.max;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) max = fmaxf(max, max4(v[k]));
    const float shift = shift_for(max);
    s = {max, s.sum * expf(s.max - shift)};
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (i + k * kThreads < units) s.sum += sum4(exp4(v[k], shift));
    }
  }
  s = merge(s, {edge, 1.0f});

  // merge the row's threads, store
  const float logit = gridDim.y == 1 ? logit_of(x, wanted, cols) : 0.0f;  // in flight during the merge
  if constexpr (kThreads <= 32) {
    s = warp_merge<kThreads>(s);
  } else {
    s = block_merge(s, threadIdx.x / kThreads * (kThreads / 32), kThreads / 32);
  }
  if (t > 0 || row >= rows) return;
  if (gridDim.y == 1) {
    loss[row] = logf(s.sum) - (logit - s.max);
  } else {
    pairs[row * gridDim.y + blockIdx.y] = s;
  }
}

// Merges the pairs of a row's parts, one block per row.
__global__ void __launch_bounds__(kMergeBlock)
    cross_entropy_merge(const MaxSum* __restrict__ pairs, const float* __restrict__ x, const int* __restrict__ target,
                        float* __restrict__ loss, std::size_t cols, unsigned parts) {
  const std::size_t row = blockIdx.x;
  const int wanted = target[row];
  pairs += row * parts;
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned i = threadIdx.x; i < parts; i += kMergeBlock) s = merge(s, pairs[i]);
  const float logit = logit_of(x + row * cols, wanted, cols);
  s = block_merge(s);
  if (threadIdx.x == 0) loss[row] = logf(s.sum) - (logit - s.max);
}

static void launch(const float* x, const int* target, float* loss, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  if (short_rows(cols) < kShortRowsCount) return cross_entropy_short::launch(x, target, loss, rows, cols);
  constexpr decltype(&cross_entropy_rows<8>) kernels[kLongKernels] = {
      cross_entropy_rows<8>,   cross_entropy_rows<16>,  cross_entropy_rows<32>, cross_entropy_rows<64>,
      cross_entropy_rows<128>, cross_entropy_rows<256>, cross_entropy_rows<512>};
  const unsigned i = long_kernel(cols), threads = 8u << i, block = block_of(threads);
  const auto kernel = kernels[i];
  const bool cut = i + 1 == kLongKernels;
  const unsigned part = cut ? length_of_part(rows, cols, resident_blocks(kernel, block)) : static_cast<unsigned>(cols);
  const auto parts = static_cast<unsigned>(ceil_div(cols, std::size_t{part}));
  MaxSum* const pairs = parts > 1 ? scratch<MaxSum>(rows * parts) : nullptr;
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, std::size_t{block / threads})), parts);
  kernel<<<grid, block>>>(x, target, loss, pairs, rows, cols, part);
  CUDA_CHECK(cudaGetLastError());
  if (parts == 1) return;
  cross_entropy_merge<<<static_cast<unsigned>(rows), kMergeBlock>>>(pairs, x, target, loss, cols, parts);
  CUDA_CHECK(cudaGetLastError());
}

// exp, a float4's sum; per kLoads float4 exp, product and kLoads additions; the edge's merge; 2 times 10 over lanes and
// warps. With parts, 6 per merge of a thread and 10 merges over the block.
static std::size_t roundings(std::size_t cols) {
  if (short_rows(cols) < kShortRowsCount) return cross_entropy_short::roundings(cols);
  const std::size_t turns = ceil_div(cols, std::size_t{4} * kLoads * (8u << long_kernel(cols)));
  const std::size_t parts = cols / kShortestPart,
                    merges = parts > 1 ? ceil_div(parts, std::size_t{kMergeBlock}) + 10 : 0;
  return 2 + 4 + 2 + (5 + kLoads) * turns + 6 + 2 * 10 + 6 * merges;
}

LADDER_STEP(CrossEntropy, launch, roundings);
