// Step 05 still reads the row twice. Idea: read it once, and keep it in registers: 8 float4 per lane hold a row of
// 1024. Only what is longer is read again. The register array is indexed by compile-time constants alone (unrolled
// loops), or it would go to local memory, that is, to DRAM. And with all of it at hand the maximum is known before the
// first exp: one exp for each element, and a plain sum. float4 needs rows that are 16-byte aligned, so cols % 4 = 0;
// else a lane takes four floats that are 32 apart (float4_row.cuh).
// Expect: close to a copy for rows of up to 1024. Short rows waste lanes: 64 elements are a float4 for half of them.
// Next question: why not 32 float4, for rows of 4096? (Those are 128 registers; half as many warps fit.)
#include "row_softmax.cuh"
#include "float4_row.cuh"

constexpr int kBlock = 256;
constexpr int kKept = 8;                // chunks of the row that stay in registers
constexpr std::size_t kChunk = 4 * 32;  // elements that the warp loads at once, four for each lane

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
  for (int k = 0; k < kKept; ++k) kept[k] = load4<vector>(x, k * kChunk + mine, cols, 32);
#pragma unroll
  for (int k = 0; k < kKept; ++k) max = fmaxf(max, max4(kept[k]));
  MaxSum s = {max, 0.0f};
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    s.sum += sum4(exp4(kept[k], shift_for(max)));
  }
  for (std::size_t j = kKept * kChunk + lane; j < cols; j += 32) s = merge(s, {x[j], 1.0f});
  s = warp_merge(s);

  const float inverse = 1.0f / s.sum;
#pragma unroll
  for (int k = 0; k < kKept; ++k) store4<vector>(y, k * kChunk + mine, cols, 32, exp4(kept[k], s.max, inverse));
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
