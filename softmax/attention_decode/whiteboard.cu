#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>

// Say: one query per head, so one FMA per element of K and V: their bytes are the limit.
// Say: a warp per sequence and query head, four columns per lane, online softmax key by key. 64-bit indices. A sequence
// without keys gives 0.
// Next: query heads of a group read the same K and V, which L1 and L2 serve: one warp for the whole group (02). 16-byte
// loads, several in flight (03). Keys split over warps, then merged (04).
__global__ void decode(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                       float* out, size_t rows, size_t kv_heads, size_t groups, size_t keys) {
  const size_t row = (size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;  // the whole warp
  const size_t kv = row / groups, sequence = kv / kv_heads, head = kv % kv_heads;
  float x[4], o[4] = {}, max = -INFINITY, sum = 0;
  for (int c = 0; c < 4; ++c) x[c] = __bfloat162float(q[row * 128 + 32 * c + lane]) / sqrtf(128);
  for (int j = 0; j < lengths[sequence]; ++j) {
    const size_t at = ((sequence * keys + j) * kv_heads + head) * 128 + lane;
    float s = 0;
    for (int c = 0; c < 4; ++c) s += x[c] * __bfloat162float(K[at + 32 * c]);
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    const float new_max = fmaxf(max, s), rescale = expf(max - new_max), p = expf(s - new_max);
    max = new_max, sum = sum * rescale + p;
    for (int c = 0; c < 4; ++c) o[c] = o[c] * rescale + p * __bfloat162float(V[at + 32 * c]);
  }
  for (int c = 0; c < 4; ++c) out[row * 128 + 32 * c + lane] = lengths[sequence] == 0 ? 0 : o[c] / sum;
}

cudaError_t launch(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                   float* out, size_t sequences, size_t kv_heads, size_t groups, size_t keys) {
  const size_t rows = sequences * kv_heads * groups;
  if (rows == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  decode<<<(rows + 3) / 4, 128>>>(q, K, V, lengths, out, rows, kv_heads, groups, keys);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "attention_decode.cuh"
#include "whiteboard.cuh"

LADDER_STEP(AttentionDecode, checked<launch>);
