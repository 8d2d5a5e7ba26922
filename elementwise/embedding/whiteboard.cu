#include <cuda_runtime.h>

#include <cstdint>

// Say: a copy with source rows anywhere. Ask: the ids' type, may they repeat, what does an id outside mean? Here it
// gives zeros. As unsigned, a negative id is too large as well, so one comparison does.
// Say: one warp per token. All lanes read the same id, one sector; then neighbouring float4 of the row.
// Say: float4 only if all rows are aligned: both pointers and dim % 4 == 0. Else the same loop with floats.
// Next: rows of 64 floats leave half of the lanes idle: a thread per float4 of the output, embedding_04. And the
// gradient: two tokens with one id add to the same row, so atomics, or sorted ids, embedding_grad.
template <typename V>
__global__ void embedding(const V* table, const int64_t* ids, V* out, size_t tokens, size_t vocab, size_t units) {
  const size_t token = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (token >= tokens) return;
  const size_t row = ids[token];  // Say: 64 bits before the product
  for (size_t u = threadIdx.x % 32; u < units; u += 32) {
    out[token * units + u] = row < vocab ? table[row * units + u] : V{};
  }
}

cudaError_t launch(const float* table, const int64_t* ids, float* out, size_t tokens, size_t vocab, size_t dim) {
  if (tokens == 0 || dim == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const unsigned blocks = (tokens + 7) / 8;
  if (dim % 4 == 0 && (uintptr_t(table) | uintptr_t(out)) % 16 == 0) {
    embedding<<<blocks, 256>>>((const float4*)table, ids, (float4*)out, tokens, vocab, dim / 4);
    return cudaGetLastError();
  }
  embedding<<<blocks, 256>>>(table, ids, out, tokens, vocab, dim);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "embedding.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Embedding, checked<launch>);
