// bug: tests both pointers but not dim: with rows of 5 floats the second row starts at byte 20
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../embedding.cuh"

constexpr int kBlock = 256;

__global__ void embedding_float4_misaligned(const float* __restrict__ table, const std::int64_t* __restrict__ ids,
                                            float* __restrict__ out, std::size_t tokens, std::size_t vocab,
                                            std::size_t dim, bool aligned) {
  const std::size_t token = std::size_t{blockIdx.x} * (kBlock / 32) + threadIdx.x / 32;
  if (token >= tokens) return;
  const auto row = static_cast<std::size_t>(ids[token]);
  const std::size_t lane = threadIdx.x % 32, quads = aligned ? dim / 4 : 0;
  for (std::size_t q = lane; q < quads; q += 32) {
    const float4 v = row < vocab ? *reinterpret_cast<const float4*>(table + row * dim + 4 * q) : float4{};
    *reinterpret_cast<float4*>(out + token * dim + 4 * q) = v;
  }
  for (std::size_t c = 4 * quads + lane; c < dim; c += 32) {
    out[token * dim + c] = row < vocab ? table[row * dim + c] : 0.0f;
  }
}

static void launch(const float* table, const std::int64_t* ids, float* out, std::size_t tokens, std::size_t vocab,
                   std::size_t dim) {
  if (tokens == 0 || dim == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(tokens, kBlock / 32));
  const bool aligned = aligned_for<float4>(table, out);
  embedding_float4_misaligned<<<blocks, kBlock>>>(table, ids, out, tokens, vocab, dim, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Embedding, launch);
