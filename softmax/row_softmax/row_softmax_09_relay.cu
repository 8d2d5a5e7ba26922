// Problem:  step 08's cluster holds less than half of a row of 2^20, and a block loads nothing while it stores.
// Idea:     hold nothing: L2 holds several rows. Some blocks only read and publish pairs (max, sum). Others follow some
//           rows behind, read the same rows again from L2, and write.
// Expect:   3 to 4x step 08, 0.75 to 0.85 of a copy at 64x2^20: DRAM stays busy, but L2 moves 3 bytes for each 2 of
//           DRAM.
// Measured: 4.03x step 08, 0.84 of a copy at 64x2^20 (H200); 3.37x, 0.90 (H100).
// Next:     which rows should still be held on the SMs?
#include "row_softmax.cuh"
#include "peeled.cuh"
#include "../float4_row.cuh"

constexpr unsigned kRelayBlock = 256, kRelayKept = 8;  // threads per block, and float4 per thread
constexpr unsigned kChunkUnits = kRelayBlock * kRelayKept;

// A row is `chunks` chunks of kChunkUnits float4. In step i half of the blocks read row i; the others read row i - lag
// again. Blocks number themselves as they start and wait only for smaller numbers, which never wait for larger ones: no
// deadlock. `pairs` has rows * chunks words, all kNoPair; `counter` starts at ~0u.
__global__ void __launch_bounds__(kRelayBlock, 4)
    row_softmax_relay(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                      unsigned chunks, unsigned lag, unsigned long long* pairs, unsigned* counter) {
  __shared__ unsigned number;
  const unsigned tid = threadIdx.x;
  if (tid == 0) number = atomicAdd(counter, 1) + 1;
  __syncthreads();
  const unsigned step = number / (2 * chunks), chunk = number % (2 * chunks) / 2;
  const bool again = number % 2 == 1;
  if (again ? step < lag : step >= rows) return;  // the whole block
  const std::size_t row = again ? step - lag : step;
  x += row * cols;
  y += row * cols;
  pairs += row * chunks;

  // load: 8 independent float4, and an element of the row's head or tail (peeled.cuh)
  const Peeled<128> part(x, cols);
  const std::size_t first = min(std::size_t{chunk} * kChunkUnits, part.units), begin = part.head + 4 * first;
  const auto count = static_cast<unsigned>(min(part.units - first, std::size_t{kChunkUnits}));
  const float4* const from = reinterpret_cast<const float4*>(x + begin);
  float4 v[kRelayKept];
#pragma unroll
  for (unsigned k = 0; k < kRelayKept; ++k) {
    const unsigned i = k * kRelayBlock + tid;
    v[k] = i < count ? (again ? __ldcs(from + i) : from[i]) : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  }
  const std::size_t at = chunk == 0 ? part.edge(tid, cols) : cols;
  const float edge = at < cols ? x[at] : -INFINITY;

  if (!again) {  // reduce: the maximum, then one exp per element
    float max = edge;
#pragma unroll
    for (unsigned k = 0; k < kRelayKept; ++k) max = fmaxf(max, max4(v[k]));
    const float shift = shift_for(max);
    float sum = expf(edge - shift);
#pragma unroll
    for (unsigned k = 0; k < kRelayKept; ++k) sum += sum4(exp4(v[k], shift));
    const MaxSum s = block_merge({max, sum});
    if (tid == 0) publish(&pairs[chunk], s);
    return;
  }

  // merge the row's pairs, waiting for each
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned c = tid; c < chunks; c += kRelayBlock) s = merge(s, await(&pairs[c]));
  s = block_merge(s);

  // store
  const float inverse = 1.0f / s.sum;
  const bool same = alike(x, y);
  if (at < cols) y[at] = expf(edge - s.max) * inverse;
#pragma unroll
  for (unsigned k = 0; k < kRelayKept; ++k) {
    const unsigned i = k * kRelayBlock + tid;
    if (i < count) store_unit(y + begin + 4 * i, exp4(v[k], s.max, inverse), same);
  }
}

static std::size_t chunks_of_row(std::size_t cols) {
  return std::max<std::size_t>(ceil_div(cols / 4, std::size_t{kChunkUnits}), 1);
}

static void launch_relay(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto chunks = static_cast<unsigned>(chunks_of_row(cols));
  // Readers lead by a quarter of L2, because results occupy it too, but by at least one row.
  const std::size_t ahead = std::max<std::size_t>(l2_bytes() / 4 / (cols * sizeof(float)), 1);
  // rows per launch, limited so that the pairs take little memory and 32 bits count the blocks
  const std::size_t most = std::max<std::size_t>((std::size_t{1} << 22) / chunks, 1);
  for (std::size_t i = 0; i < rows; i += most) {
    const std::size_t count = std::min(most, rows - i), words = count * chunks;
    const auto lag = static_cast<unsigned>(std::min(ahead, count));
    auto* const pairs = scratch<unsigned long long>(words + 1);
    CUDA_CHECK(cudaMemsetAsync(pairs, 0xff, (words + 1) * sizeof *pairs));  // also the counter
    const auto grid = static_cast<unsigned>((count + lag) * 2 * chunks);
    row_softmax_relay<<<grid, kRelayBlock>>>(x + i * cols, y + i * cols, count, cols, chunks, lag, pairs,
                                             reinterpret_cast<unsigned*>(pairs + words));
    CUDA_CHECK(cudaGetLastError());
  }
}

// Numerator: exp, inverse, product. Denominator: exp and a thread's additions; 20 over the block; 6 per pair; 20.
static std::size_t roundings_relay(std::size_t cols) {
  return 6 + 4 + (2 + kRelayKept + 1) + 20 + 6 * ceil_div(chunks_of_row(cols), std::size_t{kRelayBlock}) + 20;
}

LADDER_STEP(RowSoftmax, launch_relay, roundings_relay);
