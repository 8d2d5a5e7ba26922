// Problem:  step 01 writes the residual, then reads it twice.
// Idea:     one kernel: the sum is stored and kept in registers, where its squares are added, as in rms_norm 02.
// Expect:   1.2 to 1.5x step 01: 16 bytes per element, not 20 or 24. 0.9 to 1.0 of a copy at 1024, less elsewhere.
// Measured: 1.59x step 01, 0.95 of a copy at 32768x1024 (H200).
// Why: the bytes alone, 24 over 16, give 1.5; float4 and one launch fewer may explain the rest (hypothesis).
// Next:     may residual be const __restrict__? (No: it is written, and later reads must see the new value.)
#include "add_rms_norm.cuh"
#include "../norm_float4.cuh"

constexpr int kBlock = 256;
constexpr int kKept = 8;             // chunks of the row in registers, one float4 per lane each
constexpr unsigned kChunk = 4 * 32;  // elements per load of the warp, four per lane

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// kAligned: all rows and gamma are 16-byte aligned, and cols % 4 == 0.
template <bool kAligned>
__global__ void add_rms_norm_registers(const float* __restrict__ x, const float* __restrict__ gamma,
                                       float* __restrict__ residual, float* __restrict__ y, std::size_t rows,
                                       unsigned cols, float epsilon) {
  const unsigned lane = threadIdx.x % 32, first = kAligned ? 4 * lane : lane;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  residual += row * cols;
  y += row * cols;

  // load 16 independent float4, add, store the sum
  float4 v[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const unsigned c = k * kChunk + first;
    v[k] = add4(load4<kAligned, 32>(x, c, cols), load4<kAligned, 32>(residual, c, cols));
    store4<kAligned, 32>(residual, c, cols, v[k]);
  }

  // mean of squares
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kKept; ++k) squares += dot4(v[k], v[k]);
  for (unsigned c = kKept * kChunk + lane; c < cols; c += 32) {
    const float z = x[c] + residual[c];
    residual[c] = z;
    squares += z * z;
  }
  const float factor = rsqrtf(warp_sum(squares) / cols + epsilon);

  // scale, store
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const unsigned c = k * kChunk + first;
    store4<kAligned, 32>(y, c, cols, scale4(v[k], factor, load4<kAligned, 32>(gamma, c, cols)));
  }
  for (unsigned c = kKept * kChunk + lane; c < cols; c += 32) y[c] = residual[c] * factor * gamma[c];
}

static void launch(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(x, gamma, residual, y) && cols % 4 == 0;
  const auto kernel = aligned ? add_rms_norm_registers<true> : add_rms_norm_registers<false>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  kernel<<<grid, kBlock>>>(x, gamma, residual, y, rows, static_cast<unsigned>(cols), epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's additions: a float4 at a time from registers, then the remainder; two levels in a float4, and 5.
static std::size_t roundings(std::size_t cols) {
  const std::size_t remainder = cols - std::min<std::size_t>(cols, kKept * kChunk);
  return AddRmsNorm::by_root_mean_square(kKept + ceil_div(remainder, 32) + 2 + 5);
}

LADDER_STEP(AddRmsNorm, launch, roundings);
