// bug: the 64-bit id is stored in an int before it is tested, so an id 2^32 above the last row's becomes the last row's
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../embedding.cuh"

constexpr int kBlock = 256;

__global__ void embedding_id_in_int(const float* __restrict__ table, const std::int64_t* __restrict__ ids,
                                    float* __restrict__ out, std::size_t tokens, std::size_t vocab, std::size_t dim) {
  const std::size_t token = std::size_t{blockIdx.x} * (kBlock / 32) + threadIdx.x / 32;
  if (token >= tokens) return;
  const int row = static_cast<int>(ids[token]);
  const bool inside = row >= 0 && static_cast<std::size_t>(row) < vocab;
  for (std::size_t c = threadIdx.x % 32; c < dim; c += 32) {
    out[token * dim + c] = inside ? table[row * dim + c] : 0.0f;
  }
}

static void launch(const float* table, const std::int64_t* ids, float* out, std::size_t tokens, std::size_t vocab,
                   std::size_t dim) {
  if (tokens == 0 || dim == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(tokens, kBlock / 32));
  embedding_id_in_int<<<blocks, kBlock>>>(table, ids, out, tokens, vocab, dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Embedding, launch);
