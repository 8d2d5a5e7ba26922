// Problem:  step 02 clears the whole table, then writes the rows that have tokens again.
// Idea:     turn the scatter into a gather. A first kernel stores where each row's segment begins and ends. Then one
//           block per row of the table adds its segment; an empty one gives zeros. Every row is written once.
// Expect:   1.1 to 1.5x step 02 at 65536x50304x1024: of the 670 MB that step 02 moves, 29 % (computed) clear rows that
//           are written again. The bounds are 8 bytes per row. The segment's loop no longer waits for ids.
// Measured: 1.43x step 02, 0.54 of a copy at 65536x50304x1024 (H200); 1.41x, 0.67 (H100).
// Next:     a thread moves 4 bytes per access. How many bytes are in flight?
#include "embedding_grad.cuh"

constexpr int kBlock = 256;

// Stores the bounds: row r's segment is order[begins[r]] to order[ends[r] - 1]; both stay 0 if it is empty.
__global__ void embedding_grad_owner_bounds(const std::int64_t* __restrict__ ids, const int* __restrict__ order,
                                            int* __restrict__ begins, int* __restrict__ ends, std::size_t tokens,
                                            std::size_t vocab) {
  const std::size_t k = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (k >= tokens) return;
  const std::int64_t id = ids[order[k]];
  if (static_cast<std::size_t>(id) >= vocab) return;
  if (k == 0 || ids[order[k - 1]] != id) begins[id] = static_cast<int>(k);
  if (k + 1 == tokens || ids[order[k + 1]] != id) ends[id] = static_cast<int>(k + 1);
}

__global__ void embedding_grad_owner(const float* __restrict__ grad, const int* __restrict__ order,
                                     const int* __restrict__ begins, const int* __restrict__ ends,
                                     float* __restrict__ table_grad, std::size_t dim) {
  const std::size_t row = blockIdx.x;
  const int begin = begins[row], end = ends[row];
  for (std::size_t c = threadIdx.x; c < dim; c += kBlock) {
    float sum = 0.0f;
    for (int k = begin; k < end; ++k) sum += grad[order[k] * dim + c];
    table_grad[row * dim + c] = sum;
  }
}

static void launch(const float* grad, const std::int64_t* ids, const int* order, float* table_grad, std::size_t tokens,
                   std::size_t vocab, std::size_t dim) {
  if (vocab == 0 || dim == 0) return;
  int *begins = scratch<int>(2 * vocab), *ends = begins + vocab;
  CUDA_CHECK(cudaMemsetAsync(begins, 0, 2 * vocab * sizeof(int)));
  if (tokens > 0) {
    const auto blocks = static_cast<unsigned>(ceil_div(tokens, kBlock));
    embedding_grad_owner_bounds<<<blocks, kBlock>>>(ids, order, begins, ends, tokens, vocab);
    CUDA_CHECK(cudaGetLastError());
  }
  embedding_grad_owner<<<static_cast<unsigned>(vocab), kBlock>>>(grad, order, begins, ends, table_grad, dim);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(EmbeddingGrad, launch);
