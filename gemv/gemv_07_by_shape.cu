// Steps 02 to 06 each win on other shapes. Idea: one kernel, compiled for six kinds of rows, and a rule that picks.
//   Rows up to 2048: two or four rows for each group of threads, so that x is loaded once for all of them. 4, 8, 32
//   or 256 threads, so that most have a float4 of a row.
//   Longer rows: one row for a block, 256 threads with four float4 in flight each, or 1024 with two.
//   Fewer rows than 4 for each SM, and long: pieces of the rows, 16 blocks for each SM, added up as in step 06.
//   Streaming: up to 8 times the size of L2 A is read with __ldcs ("evict first"). What was in L2 before, such as the
//   output of the kernel before, then stays there, instead of being written to DRAM now, in competition with our reads.
//   Larger matrices wash L2 out anyway.
// The sizes are template parameters, so that loops unroll and all loads of a round go out before the first is used.
// Expect: the best of all steps on every shape, or better; most on matrices not much larger than L2.
// Next question: what is left? Fewer bytes: A in half or int8, as the decoders of language models do.
#include "gemv.cuh"

#include <algorithm>

constexpr unsigned kMinBlock = 256;

__device__ static float dot4(float4 a, float4 x) { return (a.x * x.x + a.y * x.y) + (a.z * x.z + a.w * x.w); }

template <bool streaming>
__device__ static float4 load4(const float* p) {
  const float4* p4 = reinterpret_cast<const float4*>(p);
  return streaming ? __ldcs(p4) : *p4;
}

// Each group of `threads` threads takes `rows` rows, and `loads` float4 of each at a time. blockIdx.y is the piece of
// the rows: the elements from blockIdx.y * piece on, and piece is a multiple of 4 and at most 2^30. With one piece the
// results go to y, else to sums[row * gridDim.y + blockIdx.y].
template <unsigned threads, unsigned rows, unsigned loads, bool streaming>
__global__ void __launch_bounds__(threads < kMinBlock ? kMinBlock : threads, threads == 1024 ? 0 : 4)
    gemv_by_shape(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                  const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned, unsigned piece,
                  float* __restrict__ sums) {
  const unsigned lane = threadIdx.x % threads, group = threadIdx.x / threads, groups = blockDim.x / threads;
  const std::size_t row = (std::size_t{blockIdx.x} * groups + group) * rows;
  const std::size_t begin = std::size_t{blockIdx.y} * piece;
  const unsigned length = row < m && begin < k ? static_cast<unsigned>(min(std::size_t{piece}, k - begin)) : 0;
  const unsigned vectors = aligned ? length / 4 * 4 : 0;  // elements that are read as float4

  x += begin;
  const float *first = A + row * lda + begin, *a[rows];
  float sum[rows];
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) {
    a[r] = first + (row + r < m ? r : 0) * lda;  // past the last row the first one again
    sum[r] = 0.0f;
  }
  unsigned j = 4 * lane;
#pragma unroll 1
  for (; j + 4 * threads * (loads - 1) < vectors; j += 4 * threads * loads) {
    float4 v[rows][loads];
#pragma unroll
    for (unsigned u = 0; u < loads; ++u) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) v[r][u] = load4<streaming>(a[r] + j + 4 * threads * u);
    }
#pragma unroll
    for (unsigned u = 0; u < loads; ++u) {
      const float4 w = load4<false>(x + j + 4 * threads * u);
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) sum[r] += dot4(v[r][u], w);
    }
  }
#pragma unroll 1
  for (; j < vectors; j += 4 * threads) {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) sum[r] += dot4(load4<streaming>(a[r] + j), load4<false>(x + j));
  }
#pragma unroll 1
  for (j = vectors + lane; j < length; j += threads) {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) sum[r] += a[r][j] * x[j];
  }

  // The sum over the lanes of the group, then, if it has several warps, over these.
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
    for (unsigned offset = (threads < 32 ? threads : 32) / 2; offset > 0; offset /= 2) {
      sum[r] += __shfl_xor_sync(0xffffffff, sum[r], offset);
    }
  }
  if (threads > 32) {
    constexpr unsigned warps = (threads + 31) / 32;
    __shared__ float warp_sums[rows][warps];  // the block is one group then
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) warp_sums[r][threadIdx.x / 32] = sum[r];
    }
    __syncthreads();
    if (lane < rows) {
      float s = 0.0f;
#pragma unroll
      for (unsigned w = 0; w < warps; ++w) s += warp_sums[lane][w];
      sum[0] = s;
    }
  } else {
#pragma unroll
    for (unsigned r = 1; r < rows; ++r) sum[0] = lane == r ? sum[r] : sum[0];
  }
  // Lane r of the group has the sum of its row r.
  if (lane >= rows || row + lane >= m) return;
  if (gridDim.y > 1) {
    sums[(row + lane) * gridDim.y + blockIdx.y] = sum[0];
  } else {
    float* out = y + row + lane;
    *out = beta == 0.0f ? alpha * sum[0] : alpha * sum[0] + beta * *out;
  }
}

__global__ void gemv_by_shape_finish(std::size_t m, unsigned pieces, const float* __restrict__ sums, float alpha,
                                     float beta, float* __restrict__ y) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned p = 0; p < pieces; ++p) sum += sums[row * pieces + p];
  y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

struct Shape {
  std::size_t longest;  // k for which it is meant
  unsigned threads, rows;
  decltype(&gemv_by_shape<4, 2, 1, false>) kernel[2];  // plain, streaming
};

template <unsigned threads, unsigned rows, unsigned loads>
static constexpr Shape shape(std::size_t longest) {
  return {
      longest, threads, rows, {gemv_by_shape<threads, rows, loads, false>, gemv_by_shape<threads, rows, loads, true>}};
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
  const auto pieces = static_cast<unsigned>(std::max({std::size_t{1}, wanted, ceil_div(k, std::size_t{1} << 30)}));
  const auto piece = static_cast<unsigned>(4 * ceil_div(k, std::size_t{4} * pieces));
  float* sums = pieces > 1 ? scratch<float>(m * pieces) : nullptr;

  const unsigned block = std::max(shape.threads, kMinBlock);
  const dim3 grid(static_cast<unsigned>(ceil_div(m, std::size_t{block / shape.threads * shape.rows})), pieces);
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  const bool streaming = evict_first_pays(m * k * sizeof(float));
  const auto kernel = shape.kernel[streaming];
  kernel<<<grid, block>>>(m, k, alpha, A, lda, x, beta, y, aligned, piece, sums);
  CUDA_CHECK(cudaGetLastError());
  if (pieces == 1) return;
  gemv_by_shape_finish<<<static_cast<unsigned>(ceil_div(m, 256)), 256>>>(m, pieces, sums, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
