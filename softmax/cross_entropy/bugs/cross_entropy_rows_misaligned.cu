// bug: float4 loads from each row's start, but only one in four rows of 50257 is 16-byte aligned
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../cross_entropy.cuh"
#include "../../float4_row.cuh"

constexpr int kLoads = 4;  // float4 in flight per thread

// Returns the pair of s and the elements in v together: one maximum, then one exp per element.
__device__ static MaxSum merge_float4(MaxSum s, const float4 (&v)[kLoads]) {
  float max = s.max;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) max = fmaxf(max, max4(v[k]));
  const float shift = shift_for(max);
  float sum = s.sum * expf(s.max - shift);
#pragma unroll
  for (int k = 0; k < kLoads; ++k) sum += sum4(exp4(v[k], shift));
  return {max, sum};
}

template <unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    cross_entropy_rows_misaligned(const float* __restrict__ x, const int* __restrict__ target, float* __restrict__ loss,
                                  std::size_t cols) {
  const unsigned tid = threadIdx.x;
  x += blockIdx.x * cols;
  const std::size_t n4 = cols / 4, behind = 4 * n4;
  const float4* x4 = reinterpret_cast<const float4*>(x);

  // full groups of kLoads float4, single float4, and the elements after them
  MaxSum s = {-INFINITY, 0.0f};
  std::size_t i = tid;
  for (; i + (kLoads - 1) * kBlock < n4; i += kLoads * kBlock) {
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = x4[i + k * kBlock];
    s = merge_float4(s, v);
  }
  for (; i < n4; i += kBlock) s = merge(s, pair_of(x4[i]));
  if (behind + tid < cols) s = merge(s, {x[behind + tid], 1.0f});

  s = block_merge(s);
  if (tid > 0) return;
  const int t = target[blockIdx.x];
  const bool known = t >= 0 && static_cast<std::size_t>(t) < cols;
  loss[blockIdx.x] = known ? logf(s.sum) - (x[t] - s.max) : NAN;
}

static unsigned block_for(std::size_t cols) { return cols <= 1024 ? 32 : cols <= 8192 ? 128 : 512; }

static void launch(const float* x, const int* target, float* loss, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const unsigned block = block_for(cols);
  const auto kernel = block == 32    ? cross_entropy_rows_misaligned<32>
                      : block == 128 ? cross_entropy_rows_misaligned<128>
                                     : cross_entropy_rows_misaligned<512>;
  kernel<<<static_cast<unsigned>(rows), block>>>(x, target, loss, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Exp, product and additions for each group, and for each merge: at most 3 single float4, 2 elements, 5 and 5.
static std::size_t roundings(std::size_t cols) {
  return 2 + 4 + (5 + 2 + kLoads) * ceil_div(cols, 4 * kLoads * block_for(cols)) + 8 * 3 + 6 * 12;
}

LADDER_STEP(CrossEntropy, launch, roundings);
