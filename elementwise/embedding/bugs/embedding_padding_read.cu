// bug: tests a signed id only against the upper end, so the id -1 of a padding token reads memory before the table
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../embedding.cuh"

constexpr int kBlock = 256;

__global__ void embedding_padding_read(const float* __restrict__ table, const std::int64_t* __restrict__ ids,
                                       float* __restrict__ out, std::size_t tokens, std::size_t vocab,
                                       std::size_t dim) {
  const std::size_t token = std::size_t{blockIdx.x} * (kBlock / 32) + threadIdx.x / 32;
  if (token >= tokens) return;
  const std::int64_t row = ids[token];
  const bool inside = row < static_cast<std::int64_t>(vocab);
  for (std::size_t c = threadIdx.x % 32; c < dim; c += 32) {
    out[token * dim + c] = inside ? table[row * static_cast<std::int64_t>(dim) + c] : 0.0f;
  }
}

static void launch(const float* table, const std::int64_t* ids, float* out, std::size_t tokens, std::size_t vocab,
                   std::size_t dim) {
  if (tokens == 0 || dim == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(tokens, kBlock / 32));
  embedding_padding_read<<<blocks, kBlock>>>(table, ids, out, tokens, vocab, dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Embedding, launch);
