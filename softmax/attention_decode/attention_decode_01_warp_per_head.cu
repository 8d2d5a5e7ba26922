// Problem:  in decoding one query attends to thousands of keys: one FMA per element of K and V, so memory bandwidth is
//           the limit. A tile of queries, as in attention, would have one row.
// Idea:     one warp per sequence and query head. A lane has four columns; the online softmax takes one key at a time.
// Expect:   0.04 to 0.2 of a read at 64x8x4x4096. A warp has one key in flight, in 2-byte loads, and every query
//           head reads K and V itself.
// Measured: 0.04 of a read at 64x8x4x4096 (H200).
// Next:     four query heads share a KV head. Which warp should read it?
#include "attention_decode.cuh"
#include "../attention_float4.cuh"  // kScoreScale
#include "../online_softmax.cuh"    // group_sum

constexpr int kD = 128, kWarps = 4, kColumns = kD / 32;  // columns per lane, 32 apart

__global__ void decode_warp_per_head(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
                                     const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths,
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
  decode_warp_per_head<<<static_cast<unsigned>(ceil_div(rows, kWarps)), 32 * kWarps>>>(q, K, V, lengths, out, sequences,
                                                                                       kv_heads, groups, keys);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AttentionDecode, launch);
