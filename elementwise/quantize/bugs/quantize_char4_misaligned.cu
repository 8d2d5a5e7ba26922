// bug: assumes that q is aligned for char4 wherever x is aligned for float4; q may start at any byte
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../int8_row.cuh"
#include "peeled.cuh"

constexpr int kKept = 4;  // float4 of a row that a thread keeps

template <int kBlock>
__global__ void __launch_bounds__(kBlock) quantize_char4(const float* __restrict__ x, std::int8_t* __restrict__ q,
                                                         float* __restrict__ scale, std::size_t cols) {
  const unsigned tid = threadIdx.x;
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  const Peeled<> span(x, cols);
  const std::size_t at = span.edge(tid, cols);
  const float4* const x4 = reinterpret_cast<const float4*>(x + span.head);

  // load
  float4 kept[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const std::size_t i = tid + k * kBlock;
    kept[k] = i < span.units ? x4[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
  }
  const float edge = at < cols ? x[at] : 0.0f;

  // largest magnitude: of the elements in registers, of the rest of the row, then over the block
  unsigned greatest = magnitude(edge);
#pragma unroll
  for (int k = 0; k < kKept; ++k) greatest = max(greatest, magnitude(kept[k]));
  for (std::size_t i = tid + kKept * kBlock; i < span.units; i += kBlock) greatest = max(greatest, magnitude(x4[i]));
  const float row_scale = scale_of(block_max<kBlock>(greatest));
  if (tid == 0) scale[blockIdx.x] = row_scale;

  // divide, store
  const Quantizer quantized(row_scale);
  std::int8_t* const q4 = q + span.head;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const std::size_t i = tid + k * kBlock;
    if (i < span.units) *reinterpret_cast<char4*>(q4 + 4 * i) = quantized(kept[k]);
  }
  for (std::size_t i = tid + kKept * kBlock; i < span.units; i += kBlock) {
    *reinterpret_cast<char4*>(q4 + 4 * i) = quantized(x4[i]);
  }
  if (at < cols) q[at] = quantized(edge);
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const auto kernel = cols <= 512    ? quantize_char4<32>
                      : cols <= 2048 ? quantize_char4<128>
                      : cols <= 8192 ? quantize_char4<256>
                                     : quantize_char4<1024>;
  const unsigned block = cols <= 512 ? 32 : cols <= 2048 ? 128 : cols <= 8192 ? 256 : 1024;
  kernel<<<static_cast<unsigned>(rows), block>>>(x, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Quantize, launch);
