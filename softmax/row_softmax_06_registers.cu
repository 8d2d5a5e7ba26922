// Step 05 still reads the row twice. Idea: read it once, and keep it in registers: 8 float4 per lane hold a row of
// 1024. Only what is longer is read again. The register array is indexed by compile-time constants alone (unrolled
// loops), or it would go to local memory, that is, to DRAM. And with all of it at hand the maximum is known before the
// first exp: one exp for each element, and a plain sum. float4 needs rows that are 16-byte aligned, so cols % 4 = 0;
// else a lane takes four floats that are 32 apart.
// Expect: close to a copy for rows of up to 1024. Short rows waste lanes: 64 elements are a float4 for half of them.
// Next question: why not 32 float4, for rows of 4096? (Those are 128 registers; half as many warps fit.)
#include "row_softmax.cuh"

constexpr int kBlock = 256;
constexpr int kKept = 8;                // chunks of the row that stay in registers
constexpr std::size_t kChunk = 4 * 32;  // elements that the warp loads at once, four for each lane

struct MaxSum {
  float max, sum;  // sum of exp(x - max); nothing seen yet is {-inf, 0}, one element x is {x, 1}
};

__device__ static MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max), shift = max == -INFINITY ? 0.0f : max;
  return {max, a.sum * expf(a.max - shift) + b.sum * expf(b.max - shift)};
}

// Merged over the warp, in every lane. All 32 lanes must call it.
__device__ static MaxSum warp_merge(MaxSum v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    v = merge(v, {__shfl_xor_sync(0xffffffff, v.max, offset), __shfl_xor_sync(0xffffffff, v.sum, offset)});
  }
  return v;
}

__device__ static float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ static float4 exp4(float4 v, float shift, float factor) {
  return {expf(v.x - shift) * factor, expf(v.y - shift) * factor, expf(v.z - shift) * factor,
          expf(v.w - shift) * factor};
}

// Four elements, neighbours or 32 apart, from x[j] on; -inf beyond the row's end.
template <bool vector>
__device__ static float4 load4(const float* x, std::size_t j, std::size_t cols) {
  const auto at = [&](std::size_t i) { return i < cols ? x[i] : -INFINITY; };
  if constexpr (!vector) return {at(j), at(j + 32), at(j + 64), at(j + 96)};
  const float none = -INFINITY;
  return j < cols ? *reinterpret_cast<const float4*>(x + j) : float4{none, none, none, none};
}

template <bool vector>
__device__ static void store4(float* y, std::size_t j, std::size_t cols, float4 v) {
  const auto put = [&](std::size_t i, float value) {
    if (i < cols) y[i] = value;
  };
  if constexpr (vector) {
    if (j < cols) *reinterpret_cast<float4*>(y + j) = v;
  } else {
    put(j, v.x), put(j + 32, v.y), put(j + 64, v.z), put(j + 96, v.w);
  }
}

template <bool vector>
__global__ void row_softmax_registers(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                      std::size_t cols) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and there is no barrier for the block
  x += row * cols;
  y += row * cols;

  const std::size_t mine = vector ? 4 * lane : lane;  // this lane's place in a chunk
  float4 kept[kKept];
  float max = -INFINITY;
#pragma unroll
  for (int k = 0; k < kKept; ++k) kept[k] = load4<vector>(x, k * kChunk + mine, cols);
#pragma unroll
  for (int k = 0; k < kKept; ++k) max = fmaxf(max, max4(kept[k]));
  MaxSum s = {max, 0.0f};
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const float4 e = exp4(kept[k], max == -INFINITY ? 0.0f : max, 1.0f);
    s.sum += (e.x + e.y) + (e.z + e.w);
  }
  for (std::size_t j = kKept * kChunk + lane; j < cols; j += 32) s = merge(s, {x[j], 1.0f});
  s = warp_merge(s);

  const float inverse = 1.0f / s.sum;
#pragma unroll
  for (int k = 0; k < kKept; ++k) store4<vector>(y, k * kChunk + mine, cols, exp4(kept[k], s.max, inverse));
  for (std::size_t j = kKept * kChunk + lane; j < cols; j += 32) y[j] = expf(x[j] - s.max) * inverse;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto kernel =
      aligned_for<float4>(x, y) && cols % 4 == 0 ? row_softmax_registers<true> : row_softmax_registers<false>;
  kernel<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// exp, inverse and product above; below, exp and additions of what is kept, then exp, product and addition for each
// merge: those of the rest, then 5.
static std::size_t roundings(std::size_t cols) {
  const std::size_t rest = cols - std::min(cols, kKept * kChunk);
  return 6 + 4 + 2 + kKept + 6 * (ceil_div(rest, 32) + 5);
}

LADDER_STEP(RowSoftmax, launch, roundings);
