// bug: where x is aligned for float4, q is taken to be aligned for char4; it may start at any byte
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../int8_row.cuh"

constexpr int kKept = 4;  // float4 of a row that a thread keeps

__device__ static unsigned magnitude(float4 v) {
  return max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
}

template <int kBlock>
__global__ void __launch_bounds__(kBlock) quantize_char4(const float* __restrict__ x, std::int8_t* __restrict__ q,
                                                         float* __restrict__ scale, std::size_t cols) {
  const unsigned tid = threadIdx.x;
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  const std::size_t head = min(std::size_t{floats_to_boundary(x)}, cols), units = (cols - head) / 4;
  const std::size_t behind = head + 4 * units;  // of it up to 3 elements are left
  const std::size_t edge = tid < head ? tid : tid - head + behind;
  const float4* x4 = reinterpret_cast<const float4*>(x + head);

  // load
  float4 kept[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const std::size_t i = tid + k * kBlock;
    kept[k] = i < units ? x4[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
  }
  const float single = edge < cols ? x[edge] : 0.0f;

  // the greatest magnitude: of what is kept, of what a thread has no room for, of the row
  unsigned greatest = magnitude(single);
#pragma unroll
  for (int k = 0; k < kKept; ++k) greatest = max(greatest, magnitude(kept[k]));
  for (std::size_t i = tid + kKept * kBlock; i < units; i += kBlock) greatest = max(greatest, magnitude(x4[i]));
  const float row_scale = scale_of(block_max<kBlock>(greatest));
  if (tid == 0) scale[blockIdx.x] = row_scale;

  // divide, store
  const Quantizer quantized(row_scale);
  q += head;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const std::size_t i = tid + k * kBlock;
    if (i < units) *reinterpret_cast<char4*>(q + 4 * i) = quantized(kept[k]);
  }
  for (std::size_t i = tid + kKept * kBlock; i < units; i += kBlock) {
    *reinterpret_cast<char4*>(q + 4 * i) = quantized(x4[i]);
  }
  if (edge < cols) q[edge - head] = quantized(single);
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
