// Problem:  step 02 moves queries x keys scores to memory and back; at 2048 they have 8 times the bytes of Q, K, V, O.
// Idea:     no scores in memory. One thread per query goes through the keys once, by the online rule: a new maximum
//           multiplies the sum and the output so far by exp(old maximum - new maximum).
// Expect:   DRAM is no longer the limit, but each multiply-add loads a word of K or V. At d = 128 q and o spill.
// Measured: 0.68x step 02, 4.72 TFLOP/s at 64x2048x2048 (H200).
// Why:      q and o take 128 of 168 registers: 12 warps per SM. Each key costs two exps and rescales all of o.
// Next:     128 threads of a block read the same K and V. Where should K and V be?
#include "attention.cuh"
#include "../online_softmax.cuh"  // shift_for

constexpr unsigned kBlock = 128;

template <int D>
__global__ void attention_online(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                                 float* __restrict__ O, std::size_t rows, long long queries, long long keys,
                                 bool causal) {
  const std::size_t row = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (row >= rows) return;
  const std::size_t head = row / queries;
  const long long i = row % queries;
  const long long end = causal ? min(keys, i + keys - queries + 1) : keys;  // query i attends to the keys before `end`
  K += head * keys * D;
  V += head * keys * D;
  float q[D], o[D] = {}, max = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int c = 0; c < D; ++c) q[c] = Q[row * D + c];

  for (long long j = 0; j < end; ++j) {
    float s = 0.0f;
#pragma unroll
    for (int c = 0; c < D; ++c) s += q[c] * K[j * D + c];
    s /= sqrtf(D);
    const float new_max = fmaxf(max, s), shift = shift_for(new_max);
    const float rescale = expf(max - shift), p = expf(s - shift);
    max = new_max;
    sum = sum * rescale + p;
#pragma unroll
    for (int c = 0; c < D; ++c) o[c] = o[c] * rescale + p * V[j * D + c];
  }
#pragma unroll
  for (int c = 0; c < D; ++c) O[row * D + c] = sum == 0.0f ? 0.0f : o[c] / sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  const std::size_t rows = heads * queries;
  if (rows == 0) return;
  const auto kernel = d == 64 ? attention_online<64> : attention_online<128>;
  kernel<<<static_cast<unsigned>(ceil_div(rows, kBlock)), kBlock>>>(Q, K, V, O, rows, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

// exp; for each key exp and multiplication of the rescaling, then multiplication and addition; the division.
static std::size_t roundings(std::size_t keys) { return 4 + 7 * keys + 1; }

LADDER_STEP(Attention, launch, roundings);
