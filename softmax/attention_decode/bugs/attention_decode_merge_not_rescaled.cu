// bug: splits of the keys have their own maxima, but are merged as if they had the same one
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../attention_decode.cuh"
#include "../../attention_float4.cuh"
#include "../../online_softmax.cuh"

constexpr int kD = 128, kBlock = 128, kSplit = 32;  // keys of a split
constexpr int kColumns = kD / 32;                   // columns per lane, 32 apart

// One warp per query head and split.
__global__ void decode_partial(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
                               const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths,
                               float* __restrict__ sums, float* __restrict__ outputs, std::size_t rows,
                               std::size_t splits, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t part = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32, row = part / splits;
  const std::size_t kv_head = row / groups, sequence = kv_head / kv_heads, lane = threadIdx.x % 32;
  if (row >= rows) return;  // the whole warp
  float query[kColumns], o[kColumns] = {}, max = -INFINITY, sum = 0.0f;
  for (int c = 0; c < kColumns; ++c) query[c] = kScoreScale<kD> * __bfloat162float(q[row * kD + 32 * c + lane]);
  const int begin = static_cast<int>(part % splits * kSplit), end = min(lengths[sequence], begin + kSplit);
  for (int j = begin; j < end; ++j) {
    const std::size_t at = ((sequence * keys + j) * kv_heads + kv_head % kv_heads) * kD + lane;
    float s = 0.0f;
    for (int c = 0; c < kColumns; ++c) s += query[c] * __bfloat162float(K[at + 32 * c]);
    s = group_sum<32>(s);
    const float new_max = fmaxf(max, s), rescale = exp2f(max - new_max), p = exp2f(s - new_max);
    max = new_max;
    sum = rescale * sum + p;
    for (int c = 0; c < kColumns; ++c) o[c] = rescale * o[c] + p * __bfloat162float(V[at + 32 * c]);
  }
  if (lane == 0) sums[part] = sum;  // max is missing
  for (int c = 0; c < kColumns; ++c) outputs[part * kD + 32 * c + lane] = o[c];
}

__global__ void decode_added(const float* __restrict__ sums, const float* __restrict__ outputs, float* __restrict__ out,
                             std::size_t splits) {
  const std::size_t row = blockIdx.x;
  float sum = 0.0f, o = 0.0f;
  for (std::size_t i = row * splits; i < (row + 1) * splits; ++i) {
    sum += sums[i];  // times exp2(max of the split - max of all)
    o += outputs[i * kD + threadIdx.x];
  }
  out[row * kD + threadIdx.x] = sum == 0.0f ? 0.0f : o / sum;
}

static void launch(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                   float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t rows = sequences * kv_heads * groups, splits = ceil_div(keys, std::size_t{kSplit});
  if (rows == 0) return;
  float* const sums = scratch<float, struct Sums>(rows * splits);
  float* const outputs = scratch<float>(rows * splits * kD);
  if (splits > 0) {
    decode_partial<<<static_cast<unsigned>(ceil_div(32 * rows * splits, kBlock)), kBlock>>>(
        q, K, V, lengths, sums, outputs, rows, splits, kv_heads, groups, keys);
    CUDA_CHECK(cudaGetLastError());
  }
  decode_added<<<static_cast<unsigned>(rows), kD>>>(sums, outputs, out, splits);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AttentionDecode, launch);
