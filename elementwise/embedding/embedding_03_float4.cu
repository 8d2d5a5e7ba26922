// Problem:  a lane of step 02 moves 4 bytes per access.
// Idea:     float4. Rows begin at multiples of dim floats, so dim must be a multiple of 4 and both pointers aligned to
//           16 bytes; otherwise the same kernel moves floats.
// Expect:   1.0 to 1.2x step 02, 0.85 to 1.0 of a copy at 32768x262144x1024: step 02 is unrolled by four and has enough
//           bytes in flight. 1.5 to 3x at 256x131072x4096, where few warps run.
// Measured: 1.03x step 02, 0.94 of a copy at 32768x262144x1024 (H200); 1.02x, 0.95 (H100).
// Next:     a row of 64 floats is 16 float4. What do the other 16 lanes do?
#include "embedding.cuh"

constexpr int kBlock = 256;

// units: elements of type V per row.
template <typename V>
__global__ void embedding_float4(const V* __restrict__ table, const std::int64_t* __restrict__ ids, V* __restrict__ out,
                                 std::size_t tokens, std::size_t vocab, std::size_t units) {
  const std::size_t token = std::size_t{blockIdx.x} * (kBlock / 32) + threadIdx.x / 32;
  if (token >= tokens) return;
  const auto row = static_cast<std::size_t>(ids[token]);
  for (std::size_t u = threadIdx.x % 32; u < units; u += 32) {
    out[token * units + u] = row < vocab ? table[row * units + u] : V{};
  }
}

static void launch(const float* table, const std::int64_t* ids, float* out, std::size_t tokens, std::size_t vocab,
                   std::size_t dim) {
  if (tokens == 0 || dim == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(tokens, kBlock / 32));
  if (dim % 4 == 0 && aligned_for<float4>(table, out)) {
    embedding_float4<<<blocks, kBlock>>>(reinterpret_cast<const float4*>(table), ids, reinterpret_cast<float4*>(out),
                                         tokens, vocab, dim / 4);
  } else {
    embedding_float4<<<blocks, kBlock>>>(table, ids, out, tokens, vocab, dim);
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Embedding, launch);
