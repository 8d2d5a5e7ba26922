// Candidates of the norms' any_shape: a whole row in a thread, part of a warp, a warp or a block, at any alignment.
#pragma once
#include "norm_row.cuh"

namespace norm_on_chip {

using Kernel = void (*)(const float* x, const float* gamma, const float* beta, float* residual, float* y,
                        std::size_t rows, unsigned cols, float epsilon);

// ---- very short rows: one thread per row

constexpr unsigned kTile = 2048;  // elements in the rows of a block

// The rows of a block are contiguous, so they are copied through shared memory as coalesced float4. Each thread then
// normalises whole rows of at most kMost elements.
template <Norm kNorm, unsigned kMost>
__global__ void __launch_bounds__(256)
    norm_thread_per_row(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                        float* __restrict__ residual, float* __restrict__ y, std::size_t rows, unsigned cols,
                        float epsilon) {
  __shared__ float4 staged[kTile / 4 + 1];
  const unsigned tid = threadIdx.x, block = blockDim.x, tile_rows = kTile / cols;
  const std::size_t first = std::size_t{blockIdx.x} * tile_rows;
  const auto own = static_cast<unsigned>(min(rows - first, std::size_t{tile_rows})), count = own * cols;
  x += first * cols;
  y += first * cols;
  residual += first * cols;

  // load: whole float4 go to staged[1] and on, so the tile starts `head` floats before staged[1]
  const Peeled<> span(x, count);
  float* const tile = reinterpret_cast<float*>(staged + 1) - span.head;
  const bool same = alike(x, residual), whole = alike(x, y);
  const auto at = static_cast<unsigned>(span.edge(tid, count));
  for (unsigned i = tid; i < span.units; i += block) {
    staged[1 + i] = load_row<kNorm>(x + span.head + 4 * i, residual + span.head + 4 * i, same);
  }
  if (at < count) tile[at] = load_row<kNorm>(x + at, residual + at);
  __syncthreads();

  // normalise: mean, squared distances from it, result
  for (unsigned r = tid; r < own; r += block) {
    float* const row = tile + r * cols;
    float v[kMost], mean = 0.0f, squares = 0.0f;
#pragma unroll
    for (unsigned c = 0; c < kMost; ++c) v[c] = c < cols ? row[c] : 0.0f;
    if constexpr (kNorm == Norm::layer) {
#pragma unroll
      for (unsigned c = 0; c < kMost; ++c) mean += v[c];
      mean /= static_cast<float>(cols);
    }
#pragma unroll
    for (unsigned c = 0; c < kMost; ++c) squares += c < cols ? (v[c] - mean) * (v[c] - mean) : 0.0f;
    const float factor = rsqrtf(squares / static_cast<float>(cols) + epsilon);
#pragma unroll
    for (unsigned c = 0; c < kMost; ++c) {
      if (c < cols) row[c] = normed<kNorm>(v[c], mean, factor, gamma + c, beta + c);
    }
  }
  __syncthreads();

  // store
  if (at < count) y[at] = tile[at];
  for (unsigned i = tid; i < span.units; i += block) store_unit(y + span.head + 4 * i, staged[1 + i], whole);
}

inline bool accepts_thread(const NormCall& call) { return call.cols <= 16; }

template <Norm kNorm>
void launch_thread(const NormCall& c) {
  const auto cols = static_cast<unsigned>(c.cols);
  const Kernel kernel = cols <= 4   ? norm_thread_per_row<kNorm, 4>
                        : cols <= 8 ? norm_thread_per_row<kNorm, 8>
                                    : norm_thread_per_row<kNorm, 16>;
  const auto grid = static_cast<unsigned>(ceil_div(c.rows, std::size_t{kTile / cols}));
  kernel<<<grid, 256>>>(c.x, c.gamma, c.beta, c.residual, c.y, c.rows, cols, c.epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// ---- rows in registers; half of the longest rows in shared memory

template <unsigned kThreads>
constexpr unsigned kBlockOf = kThreads > 32 ? kThreads : 256;

// Returns the threads per SM for which registers must suffice: fewer float4 per thread need fewer registers.
constexpr unsigned threads_per_sm(unsigned kept) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  return 1024;  // Turing has no more
#else
  return kept <= 4 ? 1536 : 1024;
#endif
}

// kThreads threads hold a row. Each has kKept float4 in registers, kShared in shared memory, and at most one edge
// element. kAligned: all rows, gamma and beta are 16-byte aligned, and cols is a multiple of 4.
template <Norm kNorm, unsigned kThreads, unsigned kKept, unsigned kShared, bool kAligned>
__global__ void __launch_bounds__(kBlockOf<kThreads>, threads_per_sm(kKept) / kBlockOf<kThreads>)
    row_in_registers(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                     float* __restrict__ residual, float* __restrict__ y, std::size_t rows, unsigned cols,
                     float epsilon) {
  extern __shared__ float4 shared[];  // [k][thread]
  constexpr unsigned kBlock = kBlockOf<kThreads>, kAll = kKept + kShared, kGroup = kThreads < 32 ? kThreads : 32;
  const unsigned tid = threadIdx.x, t = tid % kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * (kBlock / kThreads) + tid / kThreads;
  const unsigned length = row < rows ? cols : 0;  // no early return: all threads must reach shuffles and barrier
  x += row * cols;
  y += row * cols;
  residual += row * cols;
  const Peeled<kThreads >= 64 ? 128 : 16> part(x, length);
  const unsigned head = kAligned ? 0 : part.head, units = kAligned ? length / 4 : static_cast<unsigned>(part.units);
  const unsigned at = kAligned ? length : static_cast<unsigned>(part.edge(t, length));
  const bool same = kAligned || alike(x, residual), whole = kAligned || alike(x, y);
  const bool scales = kAligned || (alike(x, gamma) && alike(x, beta));

  // load
  float4 v[kKept];
  const auto value = [&](unsigned k) -> float4& {
    return k < kKept ? v[k < kKept ? k : 0] : shared[(k - kKept) * kBlock + tid];
  };
#pragma unroll
  for (unsigned k = 0; k < kAll; ++k) {
    const unsigned i = k * kThreads + t, c = head + 4 * i;
    value(k) = i < units ? load_row<kNorm>(x + c, residual + c, same) : float4{};
  }
  const float edge = at < length ? load_row<kNorm>(x + at, residual + at) : 0.0f;

  // moments of the row's part in this warp, or of each lane group's row: count, mean, squared distances
  Moments m = {static_cast<float>(cols), 0.0f, 0.0f};
  if constexpr (kNorm == Norm::layer) {
    float sum = edge;
#pragma unroll
    for (unsigned k = 0; k < kAll; ++k) sum += sum4(value(k));
    const unsigned count = 4 * ((units + kThreads - 1 - t) / kThreads) + (at < length ? 1 : 0);
    if (kThreads > 32) m.n = lanes_sum<32>(static_cast<float>(count));
    m.mean = lanes_sum<kGroup>(sum) / fmaxf(m.n, 1.0f);
  }
  if (at < length) m.squares = (edge - m.mean) * (edge - m.mean);
#pragma unroll
  for (unsigned k = 0; k < kAll; ++k) {
    if (k * kThreads + t < units) m.squares += squares_of<kNorm>(value(k), m.mean);
  }
  m.squares = lanes_sum<kGroup>(m.squares);
  if constexpr (kThreads > 32) {
    __shared__ float4 warps[kBlock / 32];
    m = merge_warps<kNorm>(m, warps);
  }

  // scale, shift, store
  const float factor = rsqrtf(m.squares / static_cast<float>(cols) + epsilon);
  if (at < length) y[at] = normed<kNorm>(edge, m.mean, factor, gamma + at, beta + at);
#pragma unroll
  for (unsigned k = 0; k < kAll; ++k) {
    const unsigned i = k * kThreads + t, c = head + 4 * i;
    if (i < units) store_unit(y + c, normed<kNorm>(value(k), m.mean, factor, gamma + c, beta + c, scales), whole);
  }
}

struct Layout {
  std::size_t longest;
  unsigned threads, block;
  std::size_t shared_bytes;
  Kernel any, aligned;
};
template <Norm kNorm, unsigned kThreads, unsigned kKept, unsigned kShared = 0>
Layout layout() {
  return {4 * kThreads * (kKept + kShared) + 3,
          kThreads,
          kBlockOf<kThreads>,
          kShared * kThreads * sizeof(float4),
          row_in_registers<kNorm, kThreads, kKept, kShared, false>,
          row_in_registers<kNorm, kThreads, kKept, kShared, true>};
}

constexpr std::size_t kLongest = 32771, kLongestInRegisters = 16387;
inline bool accepts(const NormCall& call) {
  return call.cols <= kLongestInRegisters || (call.cols <= kLongest && most_shared_bytes() > 65 << 10);
}

// Prefers more float4 per thread to more threads: independent loads keep memory busy, and fewer threads merge faster.
template <Norm kNorm>
void launch(const NormCall& c) {
  static const Layout layouts[] = {layout<kNorm, 8, 1>(),   layout<kNorm, 8, 2>(),     layout<kNorm, 8, 4>(),
                                   layout<kNorm, 16, 4>(),  layout<kNorm, 32, 4>(),    layout<kNorm, 32, 8>(),
                                   layout<kNorm, 64, 8>(),  layout<kNorm, 128, 8>(),   layout<kNorm, 256, 8>(),
                                   layout<kNorm, 512, 8>(), layout<kNorm, 512, 8, 8>()};
  const Layout* l = layouts;
  while (l->longest < c.cols) ++l;
  const bool aligned = aligned_for<float4>(c.x, c.gamma, c.beta, c.residual, c.y) && c.cols % 4 == 0;
  const Kernel kernel = aligned ? l->aligned : l->any;
  const auto bytes = static_cast<int>(l->shared_bytes);
  if (bytes > 48 << 10) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(ceil_div(c.rows, std::size_t{l->block / l->threads})), l->block, bytes>>>(
      c.x, c.gamma, c.beta, c.residual, c.y, c.rows, static_cast<unsigned>(c.cols), c.epsilon);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace norm_on_chip
