// Problem:  step 04 reads the row three times.
// Idea:     the online softmax (Milakov and Gimelshein, 2018): a pair (max, sum of exp(x - max)), whose sum a larger
//           maximum rescales. Pairs merge in any order (online_softmax.cuh), so one pass finds both.
// Expect:   1.1 to 1.33x step 04 beyond 1024: two reads, not three. 0.7 to 1.1x up to 1024, where the saved read comes
//           from a cache and each merge costs two exps.
// Measured: 0.79x step 04, 0.89x cuDNN at 32768x1024 (H200); 0.99x, 0.72x (H100).
// Next:     what else uses this rule?
#include "row_softmax.cuh"
#include "../online_softmax.cuh"

constexpr int kBlock = 256;

__global__ void row_softmax_online(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                   std::size_t cols) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and no block barrier follows
  x += row * cols;
  y += row * cols;

  // one pass for maximum and sum
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = lane; j < cols; j += 32) s = merge(s, {x[j], 1.0f});
  s = warp_merge(s);

  // store
  for (std::size_t j = lane; j < cols; j += 32) y[j] = expf(x[j] - s.max) / s.sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_online<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: exp, product and addition for each merge of a lane; 10 over the warp.
static std::size_t roundings(std::size_t cols) { return 5 + 6 * ceil_div(cols, 32) + 10; }

LADDER_STEP(RowSoftmax, launch, roundings);
