// bug: the maximum starts at 0, so every exp is 0 if all scores are far below
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../attention_decode.cuh"
#include "../../attention_float4.cuh"
#include "../../online_softmax.cuh"

constexpr int kD = 128, kWarps = 4, kColumns = kD / 32;  // columns per lane, 32 apart

__global__ void decode_max_from_zero(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
                                     const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths,
                                     float* __restrict__ out, std::size_t sequences, std::size_t kv_heads,
                                     std::size_t groups, std::size_t keys) {
  const std::size_t row = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32, heads = kv_heads * groups;
  const std::size_t sequence = row / heads, kv_head = row % heads / groups, lane = threadIdx.x % 32;
  if (sequence >= sequences) return;  // the whole warp
  float query[kColumns], o[kColumns] = {}, max = 0.0f, sum = 0.0f;
  for (int c = 0; c < kColumns; ++c) query[c] = kScoreScale<kD> * __bfloat162float(q[row * kD + 32 * c + lane]);
  const int length = lengths[sequence];
  for (int j = 0; j < length; ++j) {
    const std::size_t at = ((sequence * keys + j) * kv_heads + kv_head) * kD + lane;
    float s = 0.0f;
    for (int c = 0; c < kColumns; ++c) s += query[c] * __bfloat162float(K[at + 32 * c]);
    s = group_sum<32>(s);
    const float new_max = fmaxf(max, s), rescale = exp2f(max - new_max), p = exp2f(s - new_max);
    max = new_max;
    sum = rescale * sum + p;
    for (int c = 0; c < kColumns; ++c) o[c] = rescale * o[c] + p * __bfloat162float(V[at + 32 * c]);
  }
  for (int c = 0; c < kColumns; ++c) out[row * kD + 32 * c + lane] = length == 0 ? 0.0f : o[c] / sum;
}

static void launch(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                   float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t rows = sequences * kv_heads * groups;
  if (rows == 0) return;
  decode_max_from_zero<<<static_cast<unsigned>(ceil_div(rows, kWarps)), 32 * kWarps>>>(q, K, V, lengths, out, sequences,
                                                                                       kv_heads, groups, keys);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AttentionDecode, launch);
