// bug: += instead of atomicAdd: of two tokens with the same id that add at the same time, one is lost
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong
// stage: right | races and barriers
#include "../embedding_grad.cuh"

constexpr int kBlock = 256;

__global__ void embedding_grad_plain_add(const float* __restrict__ grad, const std::int64_t* __restrict__ ids,
                                         float* __restrict__ table_grad, std::size_t vocab, std::size_t dim) {
  const std::size_t token = blockIdx.x;
  const auto row = static_cast<std::size_t>(ids[token]);
  if (row >= vocab) return;
  for (std::size_t c = threadIdx.x; c < dim; c += kBlock) table_grad[row * dim + c] += grad[token * dim + c];
}

static void launch(const float* grad, const std::int64_t* ids, const int*, float* table_grad, std::size_t tokens,
                   std::size_t vocab, std::size_t dim) {
  if (vocab == 0 || dim == 0) return;
  CUDA_CHECK(cudaMemsetAsync(table_grad, 0, vocab * dim * sizeof(float)));
  if (tokens == 0) return;
  embedding_grad_plain_add<<<static_cast<unsigned>(tokens), kBlock>>>(grad, ids, table_grad, vocab, dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(EmbeddingGrad, launch);
