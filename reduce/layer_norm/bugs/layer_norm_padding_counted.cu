// bug: zeros past the end of a row do not change a sum, but each adds mean^2 to the squared distances
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../../norm_float4.cuh"
#include "../layer_norm.cuh"

constexpr int kBlock = 256;
constexpr int kKept = 8;             // chunks of the row in registers, one float4 per lane each
constexpr unsigned kChunk = 4 * 32;  // elements per load of the warp, four per lane

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// kAligned: rows, gamma and beta are 16-byte aligned, and cols % 4 == 0.
template <bool kAligned>
__global__ void layer_norm_padding_counted(const float* __restrict__ x, const float* __restrict__ gamma,
                                           const float* __restrict__ beta, float* __restrict__ y, std::size_t rows,
                                           unsigned cols, float epsilon) {
  const unsigned lane = threadIdx.x % 32, first = kAligned ? 4 * lane : lane;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  y += row * cols;

  // load: 8 independent float4
  float4 v[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) v[k] = load4<kAligned, 32>(x, k * kChunk + first, cols);

  // mean
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kKept; ++k) sum += sum4(v[k]);
  for (unsigned c = kKept * kChunk + lane; c < cols; c += 32) sum += x[c];
  const float mean = warp_sum(sum) / cols;

  // variance
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {  // squares4 tests which of the elements exist
    const float a = v[k].x - mean, b = v[k].y - mean, c = v[k].z - mean, d = v[k].w - mean;
    squares += (a * a + b * b) + (c * c + d * d);
  }
  for (unsigned c = kKept * kChunk + lane; c < cols; c += 32) squares += (x[c] - mean) * (x[c] - mean);
  const float factor = rsqrtf(warp_sum(squares) / cols + epsilon);

  // scale, shift, store
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const unsigned c = k * kChunk + first;
    const float4 g = load4<kAligned, 32>(gamma, c, cols), b = load4<kAligned, 32>(beta, c, cols);
    store4<kAligned, 32>(y, c, cols, normalise4(v[k], mean, factor, g, b));
  }
  for (unsigned c = kKept * kChunk + lane; c < cols; c += 32) y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(x, gamma, beta, y) && cols % 4 == 0;
  const auto kernel = aligned ? layer_norm_padding_counted<true> : layer_norm_padding_counted<false>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  kernel<<<grid, kBlock>>>(x, gamma, beta, y, rows, static_cast<unsigned>(cols), epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's additions: a float4 at a time from registers, then the remainder; two levels in a float4, and 5.
static std::size_t roundings(std::size_t cols) {
  const std::size_t remainder = cols - std::min<std::size_t>(cols, kKept * kChunk);
  return LayerNorm::two_passes(kKept + ceil_div(remainder, 32) + 2 + 5);
}

LADDER_STEP(LayerNorm, launch, roundings);
