// Rows that one block's registers do not hold, as row_softmax_10 introduces it, for row_softmax 10 to 12: blocks that
// only read run some rows ahead of blocks that read again, from L2, and write.
#pragma once
#include "float4_row.cuh"
#include "peeled.cuh"

namespace row_relay {

constexpr unsigned kBlock = 256, kKept = 8;  // threads of a block, and the float4 of each
constexpr unsigned kPerSm = 4;               // blocks

// A pair in 64 bits, which are read and written at once. No pair is kEmpty: its maximum would be NaN, and fmaxf passes
// over NaN.
constexpr unsigned long long kEmpty = ~0ull;

__device__ inline void publish(unsigned long long* to, MaxSum pair) {
  const auto high = static_cast<unsigned long long>(__float_as_uint(pair.max));
  atomicExch(to, high << 32 | __float_as_uint(pair.sum));
}
// Waits until another block has published the pair.
__device__ inline MaxSum await(const unsigned long long* from) {
  const volatile unsigned long long* const pair = from;
  unsigned long long bits = *pair;
  while (bits == kEmpty) {
    __nanosleep(20);
    bits = *pair;
  }
  return {__uint_as_float(static_cast<unsigned>(bits >> 32)), __uint_as_float(static_cast<unsigned>(bits))};
}

// Merged over the block, returned to every thread. All threads must call it, once.
__device__ inline MaxSum merge_block(MaxSum v) {
  __shared__ float2 warps[kBlock / 32];
  const unsigned lane = threadIdx.x % 32;
  v = group_merge<32>(v);
  if (lane == 0) warps[threadIdx.x / 32] = make_float2(v.max, v.sum);
  __syncthreads();
  const float2 pair = lane < kBlock / 32 ? warps[lane] : make_float2(-INFINITY, 0.0f);
  return group_merge<32>({pair.x, pair.y});
}

// A row is `chunks` pieces of kBlock * kKept float4. Turn i reads row i, and reads row i - lag again and writes it:
// pieces of both alternate. Blocks take them by tickets, in the order in which they start; so a block waits for pairs
// of blocks that have started before it, which finish whatever else runs. `pairs` has room for rows * chunks, all
// kEmpty; `ticket` starts at ~0u.
static __global__ void __launch_bounds__(kBlock, kPerSm)
    row_softmax_relay(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                      unsigned chunks, unsigned lag, unsigned long long* pairs, unsigned* ticket) {
  __shared__ unsigned number;
  const unsigned tid = threadIdx.x;
  if (tid == 0) number = atomicAdd(ticket, 1) + 1;
  __syncthreads();
  const unsigned turn = number / (2 * chunks), chunk = number % (2 * chunks) / 2;
  const bool again = number % 2 == 1;
  if (again ? turn < lag : turn >= rows) return;  // the whole block
  const std::size_t row = again ? turn - lag : turn;
  x += row * cols;
  y += row * cols;
  pairs += row * chunks;

  // load
  const Peeled<128> part(x, cols);
  const std::size_t first = min(std::size_t{chunk} * (kBlock * kKept), part.units);
  const auto count = static_cast<unsigned>(min(part.units - first, std::size_t{kBlock * kKept}));
  const std::size_t begin = part.head + 4 * first, at = chunk == 0 ? part.edge(tid, cols) : cols;
  const float4* const from = reinterpret_cast<const float4*>(x + begin);
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = k * kBlock + tid;
    v[k] = i < count ? (again ? __ldcs(from + i) : from[i]) : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  }
  const float edge = at < cols ? x[at] : -INFINITY;

  if (!again) {  // reduce: the maximum, then one exp per element
    float max = edge;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
    const float shift = shift_for(max);
    float sum = expf(edge - shift);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) sum += sum4(exp4(v[k], shift));
    const MaxSum s = merge_block({max, sum});
    if (tid == 0) publish(&pairs[chunk], s);
    return;
  }

  // merge the row's pairs, store
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned c = tid; c < chunks; c += kBlock) s = merge(s, await(&pairs[c]));
  s = merge_block(s);
  const float inverse = 1.0f / s.sum;
  const bool same = alike(x, y);
  if (at < cols) y[at] = expf(edge - s.max) * inverse;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = k * kBlock + tid;
    if (i < count) store_unit(y + begin + 4 * i, exp4(v[k], s.max, inverse), same);
  }
}

inline std::size_t chunks_of(std::size_t cols) {
  return std::max<std::size_t>(ceil_div(cols / 4, std::size_t{kBlock * kKept}), 1);
}

// Is a row short enough to be still in L2 when it is read again?
inline bool fits(std::size_t cols) { return cols * sizeof(float) <= l2_bytes() / 2; }

// By how many rows reading is ahead. A quarter of L2, for the other rows' second reads and the results pass through it
// as well; but two rows, if they take less than half of it, so that no block waits.
inline unsigned lag_for(std::size_t cols) {
  const std::size_t row = cols * sizeof(float), least = 5 * row <= l2_bytes() ? 2 : 1;
  return static_cast<unsigned>(std::max(l2_bytes() / 4 / row, least));
}

// fits(cols); neither length is 0.
inline void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const auto chunks = static_cast<unsigned>(chunks_of(cols));
  // rows of a launch: of very short ones not all, so that their pairs take little memory and the blocks can be counted
  const std::size_t most = std::max<std::size_t>((std::size_t{1} << 22) / chunks, 1);
  for (std::size_t i = 0; i < rows; i += most) {
    const std::size_t count = std::min(most, rows - i);
    const auto lag = static_cast<unsigned>(std::min<std::size_t>(lag_for(cols), count));
    auto* const pairs = scratch<unsigned long long>(count * chunks + 1);
    CUDA_CHECK(cudaMemsetAsync(pairs, 0xff, (count * chunks + 1) * sizeof *pairs));
    const auto grid = static_cast<unsigned>((count + lag) * 2 * chunks);
    row_softmax_relay<<<grid, kBlock>>>(x + i * cols, y + i * cols, count, cols, chunks, lag, pairs,
                                        reinterpret_cast<unsigned*>(pairs + count * chunks));
    CUDA_CHECK(cudaGetLastError());
  }
}

// Numerator: exp, inverse and product. Denominator: exp, and additions in the thread, then in the warp and over the
// warps 5 each, with an exp and a product before; the same for the row's pairs, of which a thread merges some, with
// exp, product and addition each.
inline std::size_t roundings(std::size_t cols) {
  return 6 + 4 + (2 + kKept + 1) + 2 * (2 + 5) + 6 * ceil_div(chunks_of(cols), std::size_t{kBlock}) + 2 * (2 + 5);
}

}  // namespace row_relay
