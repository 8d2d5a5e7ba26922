// Problem:  O = softmax(Q K^T / sqrt(d)) V is two GEMMs with a softmax between them.
// Idea:     one kernel for each, straight from the definition. The queries x keys scores of each head are stored.
// Expect:   1 to 4 TFLOP/s: a score reads 2 d floats for d multiply-adds, and the lanes of a warp read 32 rows of K.
// Measured: 0.906 TFLOP/s at 64x2048x2048 (H200).
// Next:     each element of Q, K and V is used by a whole row or column of scores. How often is it loaded?
#include "attention.cuh"
#include "attention_scores.cuh"  // kBlock, attention_softmax

// Computes s = q . k / sqrt(d), or -inf under the mask: query i attends to the keys j <= i + keys - queries.
__global__ void attention_scores(const float* __restrict__ Q, const float* __restrict__ K, float* __restrict__ scores,
                                 std::size_t count, long long queries, long long keys, int d, bool causal) {
  const std::size_t n = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (n >= count) return;
  const std::size_t row = n / keys, head = row / queries;
  const long long i = row % queries, j = n % keys;
  const float *q = Q + row * d, *k = K + (head * keys + j) * d;
  float sum = 0.0f;
  for (int c = 0; c < d; ++c) sum += q[c] * k[c];
  scores[n] = causal && j > i + keys - queries ? -INFINITY : sum / sqrtf(static_cast<float>(d));
}

__global__ void attention_output(const float* __restrict__ weights, const float* __restrict__ V, float* __restrict__ O,
                                 std::size_t count, std::size_t queries, std::size_t keys, int d) {
  const std::size_t n = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (n >= count) return;
  const std::size_t row = n / d, head = row / queries;
  const float *p = weights + row * keys, *v = V + head * keys * d + n % d;
  float sum = 0.0f;
  for (std::size_t j = 0; j < keys; ++j) sum += p[j] * v[j * d];
  O[n] = sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  const std::size_t rows = heads * queries, count = rows * keys;
  if (rows == 0) return;
  float* scores = scratch<float>(count);
  if (count > 0) {
    attention_scores<<<static_cast<unsigned>(ceil_div(count, kBlock)), kBlock>>>(Q, K, scores, count, queries, keys, d,
                                                                                 causal);
    attention_softmax<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(scores, rows, keys);
  }
  attention_output<<<static_cast<unsigned>(ceil_div(rows * d, kBlock)), kBlock>>>(scores, V, O, rows * d, queries, keys,
                                                                                  d);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, division, and the sum over the keys. Denominator: exp; a lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t keys) { return 4 + 1 + keys + 4 + ceil_div(keys, 32) + 5; }

LADDER_STEP(Attention, launch, roundings, true);
