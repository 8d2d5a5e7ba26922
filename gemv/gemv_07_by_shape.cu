// Problem:  steps 02 to 06 each win on other shapes.
// Idea:     one kernel, compiled for six row lengths, and a rule. Up to 2048: 4 to 256 threads take two or four rows,
//           so that x is loaded once for all of them. Longer: a block per row. Few long rows: slices, as in step 06.
// Expect:   at least 1.0x the best of steps 02 to 06 on every shape; most where A is not much larger than L2, for A is
//           read with evict-first loads there.
// Measured: 1.11x step 06, 1.44x cuBLAS at 8192x8192 (H200); 1.09x, 1.30x (H100).
// Why:      true at the 8 shapes of the table, not where rows are not 16-byte aligned: at 8189 x 4093 0.56x cuBLAS,
//           step 02 has 1.28x (H200). The scalar path keeps one load per row in flight.
// Next:     what is left? (Fewer bytes: A in half or int8, as the decoders of language models do.)
#include "float4.cuh"
#include "gemv.cuh"

#include <algorithm>

constexpr unsigned kMinBlock = 256;

// kThreads threads take kRows rows, or slice blockIdx.y of them: the elements from blockIdx.y * slice on. slice is a
// multiple of 4 and at most 2^30. With one slice the results go to y, else to partials[row * gridDim.y + blockIdx.y].
// kLoads: float4 of each row in flight per thread. kEvictFirst: A is read with __ldcs.
template <unsigned kThreads, unsigned kRows, unsigned kLoads, bool kEvictFirst>
__global__ void __launch_bounds__(kThreads < kMinBlock ? kMinBlock : kThreads, kThreads == 1024 ? 0 : 4)
    gemv_by_shape(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                  const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned, unsigned slice,
                  float* __restrict__ partials) {
  const unsigned lane = threadIdx.x % kThreads, group = threadIdx.x / kThreads, groups = blockDim.x / kThreads;
  const std::size_t row = (std::size_t{blockIdx.x} * groups + group) * kRows;
  const std::size_t begin = std::size_t{blockIdx.y} * slice;
  const unsigned length = row < m && begin < k ? static_cast<unsigned>(min(std::size_t{slice}, k - begin)) : 0;
  const unsigned float4_end = aligned ? length / 4 * 4 : 0;  // elements before it are read as float4

  x += begin;
  const float *first = A + row * lda + begin, *a[kRows];
  float sum[kRows];
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
    a[r] = first + (row + r < m ? r : 0) * lda;  // past the last row: the first one again
    sum[r] = 0.0f;
  }
  // load: kLoads float4 of each row at a time, single ones, then the tail, or all of it if rows are not aligned
  unsigned j = 4 * lane;
#pragma unroll 1
  for (; j + 4 * kThreads * (kLoads - 1) < float4_end; j += 4 * kThreads * kLoads) {
    float4 v[kRows][kLoads];
#pragma unroll
    for (unsigned u = 0; u < kLoads; ++u) {
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) v[r][u] = load4<kEvictFirst>(a[r] + j + 4 * kThreads * u);
    }
#pragma unroll
    for (unsigned u = 0; u < kLoads; ++u) {
      const float4 w = load4<false>(x + j + 4 * kThreads * u);
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) sum[r] += dot4(v[r][u], w);
    }
  }
#pragma unroll 1
  for (; j < float4_end; j += 4 * kThreads) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) sum[r] += dot4(load4<kEvictFirst>(a[r] + j), load4<false>(x + j));
  }
#pragma unroll 1
  for (j = float4_end + lane; j < length; j += kThreads) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) sum[r] += a[r][j] * x[j];
  }

  // reduce over the lanes of the rows, then over their warps
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
#pragma unroll
    for (unsigned offset = (kThreads < 32 ? kThreads : 32) / 2; offset > 0; offset /= 2) {
      sum[r] += __shfl_xor_sync(0xffffffff, sum[r], offset);
    }
  }
  if (kThreads > 32) {
    constexpr unsigned warps = (kThreads + 31) / 32;
    __shared__ float warp_sums[kRows][warps];  // the block has these rows only then
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) warp_sums[r][threadIdx.x / 32] = sum[r];
    }
    __syncthreads();
    if (lane < kRows) {
      float s = 0.0f;
#pragma unroll
      for (unsigned w = 0; w < warps; ++w) s += warp_sums[lane][w];
      sum[0] = s;
    }
  } else {
#pragma unroll
    for (unsigned r = 1; r < kRows; ++r) sum[0] = lane == r ? sum[r] : sum[0];
  }
  // store: lane r has the sum of row r
  if (lane >= kRows || row + lane >= m) return;
  if (gridDim.y > 1) {
    partials[(row + lane) * gridDim.y + blockIdx.y] = sum[0];
  } else {
    float* out = y + row + lane;
    *out = beta == 0.0f ? alpha * sum[0] : alpha * sum[0] + beta * *out;
  }
}

__global__ void gemv_by_shape_finish(std::size_t m, unsigned slices, const float* __restrict__ partials, float alpha,
                                     float beta, float* __restrict__ y) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned s = 0; s < slices; ++s) sum += partials[row * slices + s];
  y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

struct Shape {
  std::size_t longest;  // k for which it is meant
  unsigned threads, rows;
  decltype(&gemv_by_shape<4, 2, 1, false>) kernel[2];  // plain loads, evict-first loads
};

template <unsigned kThreads, unsigned kRows, unsigned kLoads>
static constexpr Shape shape(std::size_t longest) {
  return {longest,
          kThreads,
          kRows,
          {gemv_by_shape<kThreads, kRows, kLoads, false>, gemv_by_shape<kThreads, kRows, kLoads, true>}};
}

static const Shape& pick(std::size_t k) {
  static const Shape shapes[] = {shape<4, 2, 1>(16),     shape<8, 2, 1>(64),     shape<32, 4, 1>(512),
                                 shape<256, 4, 1>(2048), shape<256, 1, 4>(8191), shape<1024, 1, 2>(SIZE_MAX)};
  return *std::find_if(std::begin(shapes), std::end(shapes), [&](const Shape& s) { return k <= s.longest; });
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  const Shape& shape = pick(k);
  const std::size_t sms = sm_count();
  const std::size_t wanted = m < 4 * sms ? std::min(16 * sms / m, k / 8192) : 1;
  const auto slices = static_cast<unsigned>(std::max({std::size_t{1}, wanted, ceil_div(k, std::size_t{1} << 30)}));
  const auto slice = static_cast<unsigned>(4 * ceil_div(k, std::size_t{4} * slices));
  float* partials = slices > 1 ? scratch<float>(m * slices) : nullptr;

  const unsigned block = std::max(shape.threads, kMinBlock);
  const dim3 grid(static_cast<unsigned>(ceil_div(m, std::size_t{block / shape.threads * shape.rows})), slices);
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  const bool evict_first = evict_first_pays(m * k * sizeof(float));
  const auto kernel = shape.kernel[evict_first];
  kernel<<<grid, block>>>(m, k, alpha, A, lda, x, beta, y, aligned, slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  gemv_by_shape_finish<<<static_cast<unsigned>(ceil_div(m, 256)), 256>>>(m, slices, partials, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
