// bug: a segment ends where another id begins, but no id follows the last token's: the loop reads past the order
// caught by: cpu-asan forward | heap-buffer-overflow
// caught by: gpu memcheck | Invalid __global__ read
// stage: memory
#include "../embedding_grad.cuh"

constexpr int kBlock = 256;

__global__ void embedding_grad_past_the_last_token(const float* __restrict__ grad, const std::int64_t* __restrict__ ids,
                                                   const int* __restrict__ order, float* __restrict__ table_grad,
                                                   std::size_t vocab, std::size_t dim) {
  const std::size_t first = blockIdx.x;
  const std::int64_t id = ids[order[first]];
  const auto row = static_cast<std::size_t>(id);
  if (row >= vocab || (first > 0 && ids[order[first - 1]] == id)) return;
  for (std::size_t c = threadIdx.x; c < dim; c += kBlock) {
    float sum = 0.0f;
    for (std::size_t k = first; ids[order[k]] == id; ++k) sum += grad[order[k] * dim + c];
    table_grad[row * dim + c] = sum;
  }
}

static void launch(const float* grad, const std::int64_t* ids, const int* order, float* table_grad, std::size_t tokens,
                   std::size_t vocab, std::size_t dim) {
  if (vocab == 0 || dim == 0) return;
  CUDA_CHECK(cudaMemsetAsync(table_grad, 0, vocab * dim * sizeof(float)));
  if (tokens == 0) return;
  embedding_grad_past_the_last_token<<<static_cast<unsigned>(tokens), kBlock>>>(grad, ids, order, table_grad, vocab,
                                                                                dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(EmbeddingGrad, launch);
