// bug: multiplies p by V's scale before p is added to the sum, so the division removes the scale again
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../attention_decode_int8.cuh"
#include "../../attention_float4.cuh"
#include "../../online_softmax.cuh"

constexpr int kD = 128, kWarps = 4, kColumns = kD / 32;  // columns per lane, 32 apart

__global__ void decode_int8_scale_in_sum(const __nv_bfloat16* __restrict__ q, const std::int8_t* __restrict__ K,
                                         const std::int8_t* __restrict__ V, const int* __restrict__ lengths,
                                         const __half* __restrict__ k_scales, const __half* __restrict__ v_scales,
                                         float* __restrict__ out, std::size_t sequences, std::size_t kv_heads,
                                         std::size_t groups, std::size_t keys) {
  const std::size_t row = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32, heads = kv_heads * groups;
  const std::size_t sequence = row / heads, kv_head = row % heads / groups, lane = threadIdx.x % 32;
  if (sequence >= sequences) return;  // the whole warp
  float query[kColumns], o[kColumns] = {}, max = -INFINITY, sum = 0.0f;
  for (int c = 0; c < kColumns; ++c) query[c] = kScoreScale<kD> * __bfloat162float(q[row * kD + 32 * c + lane]);
  const int length = lengths[sequence];
  for (int j = 0; j < length; ++j) {
    const std::size_t at = ((sequence * keys + j) * kv_heads + kv_head) * kD + lane;
    const std::size_t scale = (sequence * kv_heads + kv_head) * keys + j;
    float s = 0.0f;
    for (int c = 0; c < kColumns; ++c) s += query[c] * K[at + 32 * c];
    s = __half2float(k_scales[scale]) * group_sum<32>(s);
    const float new_max = fmaxf(max, s), rescale = exp2f(max - new_max);
    max = new_max;
    const float p = __half2float(v_scales[scale]) * exp2f(s - new_max);
    sum = rescale * sum + p;
    for (int c = 0; c < kColumns; ++c) o[c] = rescale * o[c] + p * V[at + 32 * c];
  }
  for (int c = 0; c < kColumns; ++c) out[row * kD + 32 * c + lane] = length == 0 ? 0.0f : o[c] / sum;
}

static void launch(const __nv_bfloat16* q, const std::int8_t* K, const std::int8_t* V, const int* lengths,
                   const __half* k_scales, const __half* v_scales, float* out, std::size_t sequences,
                   std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t rows = sequences * kv_heads * groups;
  if (rows == 0) return;
  decode_int8_scale_in_sum<<<static_cast<unsigned>(ceil_div(rows, kWarps)), 32 * kWarps>>>(
      q, K, V, lengths, k_scales, v_scales, out, sequences, kv_heads, groups, keys);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AttentionDecodeInt8, launch);
