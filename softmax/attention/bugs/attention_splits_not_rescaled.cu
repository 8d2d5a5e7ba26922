// bug: splits of the keys have their own maxima, but are added as if they had the same one
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../attention.cuh"
#include "../../online_softmax.cuh"

constexpr int kBlock = 128, kMostD = 128;
constexpr long long kSplitKeys = 32;

// One thread per row of O and split of the keys.
__global__ void attention_splits(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                                 float* __restrict__ sums, float* __restrict__ outputs, std::size_t count,
                                 std::size_t splits, long long queries, long long keys, int d, bool causal) {
  const std::size_t n = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (n >= count) return;
  const std::size_t row = n / splits, head = row / queries;
  const long long i = row % queries, begin = n % splits * kSplitKeys, end = min(keys, begin + kSplitKeys);
  const float* const q = Q + row * d;
  float o[kMostD] = {}, max = -INFINITY, sum = 0.0f;
  for (long long j = begin; j < (causal ? min(end, i + keys - queries + 1) : end); ++j) {
    const float *k = K + (head * keys + j) * d, *v = V + (head * keys + j) * d;
    float s = 0.0f;
    for (int c = 0; c < d; ++c) s += q[c] * k[c];
    s /= sqrtf(static_cast<float>(d));
    const float new_max = fmaxf(max, s), shift = shift_for(new_max), rescale = expf(max - shift), p = expf(s - shift);
    max = new_max;
    sum = rescale * sum + p;
    for (int c = 0; c < d; ++c) o[c] = rescale * o[c] + p * v[c];
  }
  sums[n] = sum;  // max is missing
  for (int c = 0; c < d; ++c) outputs[n * d + c] = o[c];
}

__global__ void attention_splits_added(const float* __restrict__ sums, const float* __restrict__ outputs,
                                       float* __restrict__ O, std::size_t count, std::size_t splits, int d) {
  const std::size_t n = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (n >= count) return;
  const std::size_t row = n / d;
  float sum = 0.0f, o = 0.0f;
  for (std::size_t i = row * splits; i < (row + 1) * splits; ++i) {
    sum += sums[i];  // times exp(max of the split - max of all)
    o += outputs[i * d + n % d];
  }
  O[n] = sum == 0.0f ? 0.0f : o / sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  const std::size_t rows = heads * queries, splits = ceil_div(keys, std::size_t{kSplitKeys});
  if (rows == 0) return;
  float* const sums = scratch<float, struct Sums>(rows * splits);
  float* const outputs = scratch<float>(rows * splits * d);
  if (splits > 0) {
    attention_splits<<<static_cast<unsigned>(ceil_div(rows * splits, kBlock)), kBlock>>>(
        Q, K, V, sums, outputs, rows * splits, splits, queries, keys, d, causal);
  }
  attention_splits_added<<<static_cast<unsigned>(ceil_div(rows * d, kBlock)), kBlock>>>(sums, outputs, O, rows * d,
                                                                                        splits, d);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Attention, launch);
