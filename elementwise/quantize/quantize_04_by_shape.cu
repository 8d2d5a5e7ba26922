// Problem:  step 03 spends a block on a 128-element row, re-reads half of a 32768-element row, and leaves SMs idle with
//           64 rows.
// Idea:     8 to 1024 threads per row; each holds up to 8 float4. Rows that are too long, or too few to fill the GPU,
//           are divided among blocks, in two kernels; the second starts with what L2 still holds.
// Expect:   0.9 to 1.0 of a copy at 32768x1024 and for rows of 32768. 0.8 to 0.9 for rows of 128, 0.55 to 0.65 for 64
//           rows of a million, where 9 bytes move instead of 5.
// Measured: 1.19x step 03, 0.93 of a copy at 32768x1024 (H200); 1.04x, 0.95 (H100).
// Next:     a row of 2^20 floats is 4 MB. What could hold it?
#include "int8_row.cuh"
#include "peeled.cuh"

// Maximum over the kThreads threads of a row, returned to each. All threads of the block must call it, and only once.
template <unsigned kThreads>
__device__ static unsigned row_max(unsigned v) {
  if constexpr (kThreads > 32) {
    return block_max<kThreads>(v);
  } else {
#pragma unroll
    for (unsigned offset = kThreads / 2; offset > 0; offset /= 2) v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
    return v;
  }
}

// Loads x4[i], x4[i + kStride] and so on, and 0 from index end on.
template <unsigned kStride, int kKept>
__device__ static void load(float4 (&v)[kKept], const float4* x4, std::size_t i, std::size_t end) {
#pragma unroll
  for (int k = 0; k < kKept; ++k) v[k] = i + k * kStride < end ? x4[i + k * kStride] : float4{0.0f, 0.0f, 0.0f, 0.0f};
}

template <unsigned kThreads>
constexpr unsigned kBlockOf = kThreads > 32 ? kThreads : 256;

// Rows of up to 4 * kThreads * kKept + 3 elements: each thread holds kKept float4 and one element of the head or tail.
template <unsigned kThreads, int kKept>
__global__ void __launch_bounds__(kBlockOf<kThreads>)
    quantize_kept(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale, std::size_t rows,
                  std::size_t cols) {
  const unsigned t = threadIdx.x % kThreads;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlockOf<kThreads> + threadIdx.x) / kThreads;
  const std::size_t length = row < rows ? cols : 0;  // no return: all threads must reach shuffles and barrier
  x += row * cols;
  q += row * cols;

  // load
  const Peeled<> span(x, length);
  const float4* const x4 = reinterpret_cast<const float4*>(x + span.head);
  const std::size_t at = span.edge(t, length);
  float4 kept[kKept];
  load<kThreads>(kept, x4, t, span.units);
  const float edge = at < length ? x[at] : 0.0f;

  // largest magnitude
  unsigned greatest = magnitude(edge);
#pragma unroll
  for (int k = 0; k < kKept; ++k) greatest = max(greatest, magnitude(kept[k]));
  const float row_scale = scale_of(row_max<kThreads>(greatest));
  if (t == 0 && row < rows) scale[row] = row_scale;

  // divide, store
  const Quantizer quantized(row_scale);
  std::int8_t* const q4 = q + span.head;
  const bool aligned = is_aligned_for_char4(q4);
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const unsigned i = k * kThreads + t;
    if (i < span.units) store_char4(q4 + 4 * i, quantized(kept[k]), aligned);
  }
  if (at < length) q[at] = quantized(edge);
}

// Threads per block, and float4 per part of a row. Block y of a row takes part y and every gridDim.y-th part after it.
constexpr unsigned kBlock = 256, kPart = 4 * kBlock;

__global__ void __launch_bounds__(kBlock)
    greatest_of_parts(const float* __restrict__ x, unsigned* __restrict__ greatest, std::size_t cols) {
  x += blockIdx.x * cols;
  const Peeled<> span(x, cols);
  const float4* const x4 = reinterpret_cast<const float4*>(x + span.head);
  const std::size_t at = blockIdx.y == 0 ? span.edge(threadIdx.x, cols) : cols;
  unsigned most = at < cols ? magnitude(x[at]) : 0;
  const std::size_t first = std::size_t{blockIdx.y} * kPart + threadIdx.x, stride = gridDim.y * kPart;
  for (std::size_t i = first; i < span.units; i += stride) {
    float4 v[4];
    load<kBlock>(v, x4, i, span.units);
    for (const float4 four : v) most = max(most, magnitude(four));
  }
  most = block_max<kBlock>(most);
  if (threadIdx.x == 0) atomicMax(&greatest[blockIdx.x], most);
}

// Starts with the last part, because L2 still holds what the first kernel read last.
__global__ void __launch_bounds__(kBlock)
    divide_parts(const float* __restrict__ x, const unsigned* __restrict__ greatest, std::int8_t* __restrict__ q,
                 float* __restrict__ scale, std::size_t cols) {
  const unsigned row = gridDim.x - 1 - blockIdx.x, part = gridDim.y - 1 - blockIdx.y;
  x += row * cols;
  q += row * cols;
  const float row_scale = scale_of(greatest[row]);
  if (part == 0 && threadIdx.x == 0) scale[row] = row_scale;
  const Quantizer quantized(row_scale);
  const Peeled<> span(x, cols);
  const float4* const x4 = reinterpret_cast<const float4*>(x + span.head);
  std::int8_t* const q4 = q + span.head;
  const bool aligned = is_aligned_for_char4(q4);
  const std::size_t at = part == 0 ? span.edge(threadIdx.x, cols) : cols;
  if (at < cols) q[at] = quantized(x[at]);
  const std::size_t first = std::size_t{part} * kPart + threadIdx.x, stride = gridDim.y * kPart;
  for (std::size_t i = first; i < span.units; i += stride) {
    float4 v[4];
    load<kBlock>(v, x4, i, span.units);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::size_t unit = i + k * kBlock;
      if (unit < span.units) store_char4(q4 + 4 * unit, quantized(v[k]), aligned);
    }
  }
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  if (cols > 32771 || (cols > 8195 && rows < 2 * static_cast<std::size_t>(sm_count()))) {
    unsigned* const greatest = scratch<unsigned>(rows);
    CUDA_CHECK(cudaMemsetAsync(greatest, 0, rows * sizeof(unsigned)));
    const std::size_t parts = std::min<std::size_t>(ceil_div(cols, 4 * kPart), 65535);
    const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(parts));
    greatest_of_parts<<<grid, kBlock>>>(x, greatest, cols);
    CUDA_CHECK(cudaGetLastError());
    divide_parts<<<grid, kBlock>>>(x, greatest, q, scale, cols);
    CUDA_CHECK(cudaGetLastError());
    return;
  }
  const auto start = [&](auto kernel, unsigned threads) {
    const unsigned block = threads > 32 ? threads : 256;
    kernel<<<static_cast<unsigned>(ceil_div(rows, block / threads)), block>>>(x, q, scale, rows, cols);
    CUDA_CHECK(cudaGetLastError());
  };
  if (cols <= 131) return start(quantize_kept<8, 4>, 8);
  if (cols <= 259) return start(quantize_kept<16, 4>, 16);
  if (cols <= 515) return start(quantize_kept<32, 4>, 32);
  if (cols <= 1027) return start(quantize_kept<32, 8>, 32);
  if (cols <= 2051) return start(quantize_kept<64, 8>, 64);
  if (cols <= 4099) return start(quantize_kept<128, 8>, 128);
  if (cols <= 8195) return start(quantize_kept<256, 8>, 256);
  if (cols <= 16387) return start(quantize_kept<512, 8>, 512);
  start(quantize_kept<1024, 8>, 1024);
}

LADDER_STEP(Quantize, launch);
