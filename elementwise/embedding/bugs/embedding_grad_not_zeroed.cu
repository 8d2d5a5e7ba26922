// bug: adds to the table without clearing it, so every row keeps what was there before
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../embedding_grad.cuh"

constexpr int kBlock = 256;

__global__ void embedding_grad_not_zeroed(const float* __restrict__ grad, const std::int64_t* __restrict__ ids,
                                          float* __restrict__ table_grad, std::size_t vocab, std::size_t dim) {
  const std::size_t token = blockIdx.x;
  const auto row = static_cast<std::size_t>(ids[token]);
  if (row >= vocab) return;
  for (std::size_t c = threadIdx.x; c < dim; c += kBlock) atomicAdd(table_grad + row * dim + c, grad[token * dim + c]);
}

static void launch(const float* grad, const std::int64_t* ids, const int*, float* table_grad, std::size_t tokens,
                   std::size_t vocab, std::size_t dim) {
  if (tokens == 0 || vocab == 0 || dim == 0) return;
  embedding_grad_not_zeroed<<<static_cast<unsigned>(tokens), kBlock>>>(grad, ids, table_grad, vocab, dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(EmbeddingGrad, launch);
