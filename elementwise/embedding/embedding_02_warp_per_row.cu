// Problem:  step 01 starts 8 warps for each row. Short rows leave most of them idle.
// Idea:     one warp per token, eight tokens per block.
// Expect:   1.5 to 3x step 01 at 262144x1048576x128; 0.9 to 1.1x at 32768x262144x1024, where the bytes in flight stay
//           the same.
// Measured: 1.06x step 01, 0.92 of a copy at 32768x262144x1024 (H200); 0.99x, 0.93 (H100).
// Next:     how many bytes does a warp's request move?
#include "embedding.cuh"

constexpr int kBlock = 256;

__global__ void embedding_warp_per_row(const float* __restrict__ table, const std::int64_t* __restrict__ ids,
                                       float* __restrict__ out, std::size_t tokens, std::size_t vocab,
                                       std::size_t dim) {
  const std::size_t token = std::size_t{blockIdx.x} * (kBlock / 32) + threadIdx.x / 32;
  if (token >= tokens) return;
  const auto row = static_cast<std::size_t>(ids[token]);  // one sector, for all lanes
  for (std::size_t c = threadIdx.x % 32; c < dim; c += 32) {
    out[token * dim + c] = row < vocab ? table[row * dim + c] : 0.0f;
  }
}

static void launch(const float* table, const std::int64_t* ids, float* out, std::size_t tokens, std::size_t vocab,
                   std::size_t dim) {
  if (tokens == 0 || dim == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(tokens, kBlock / 32));
  embedding_warp_per_row<<<blocks, kBlock>>>(table, ids, out, tokens, vocab, dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Embedding, launch);
