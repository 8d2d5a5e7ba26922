// Rows of B that are not 16-byte aligned, for step 13. cp.async would have to bring them in copies of 4 bytes, four
// times as many, and each request would touch more sectors. To copy B once into rows that are aligned costs about as
// much at 4095, and less at 4097.
#pragma once
#include "sgemm.cuh"

// `to` = B, k x n, with rows of ldb_to floats, a multiple of 4, the rest of each row 0. A block has a row and 1024
// columns.
__global__ static void sgemm_align_rows(long long n, const float* __restrict__ B, long long ldb,
                                        float4* __restrict__ to, long long ldb_to, unsigned blocks_n) {
  const long long row = blockIdx.x / blocks_n, column = (blockIdx.x % blocks_n * 256LL + threadIdx.x) * 4;
  if (column >= ldb_to) return;
  float v[4];
#pragma unroll
  for (int x = 0; x < 4; ++x) v[x] = column + x < n ? B[row * ldb + column + x] : 0.0f;
  to[(row * ldb_to + column) / 4] = make_float4(v[0], v[1], v[2], v[3]);
}

// A copy of B, k x n and not empty, in scratch memory, and sets ldb to its rows' distance.
static const float* copy_to_aligned_rows(std::size_t n, std::size_t k, const float* B, std::size_t& ldb) {
  const std::size_t row = ceil_div(n, 4) * 4;
  float4* copy = scratch<float4, struct AlignedRows>(k * row / 4);
  const auto blocks_n = static_cast<unsigned>(ceil_div(row, 1024));
  sgemm_align_rows<<<static_cast<unsigned>(k * blocks_n), 256>>>(n, B, ldb, copy, row, blocks_n);
  CUDA_CHECK(cudaGetLastError());
  ldb = row;
  return &copy->x;
}
