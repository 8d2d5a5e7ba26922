// A copy of B in rows that are 16-byte aligned, for step 13. From unaligned rows cp.async can only copy 4 bytes at a
// time: four times as many instructions, and each request touches one more sector.
#pragma once
#include "sgemm.cuh"

// `to` = B, K x N, in rows of ldb_to floats, a multiple of 4; the end of each row is 0. A block copies 1024 columns of
// one row.
__global__ static void sgemm_align_rows(long long N, const float* __restrict__ B, long long ldb,
                                        float4* __restrict__ to, long long ldb_to, unsigned blocks_n) {
  const long long row = blockIdx.x / blocks_n, col = (blockIdx.x % blocks_n * 256LL + threadIdx.x) * 4;
  if (col >= ldb_to) return;
  float v[4];
#pragma unroll
  for (int x = 0; x < 4; ++x) v[x] = col + x < N ? B[row * ldb + col + x] : 0.0f;
  to[(row * ldb_to + col) / 4] = make_float4(v[0], v[1], v[2], v[3]);
}

// Copies B, K x N and not empty, to scratch memory; sets ldb to the copy's leading dimension.
static const float* copy_to_aligned_rows(std::size_t N, std::size_t K, const float* B, std::size_t& ldb) {
  const std::size_t row = ceil_div(N, 4) * 4;
  float4* copy = scratch<float4, struct AlignedRows>(K * row / 4);
  const auto blocks_n = static_cast<unsigned>(ceil_div(row, 1024));
  sgemm_align_rows<<<static_cast<unsigned>(K * blocks_n), 256>>>(N, B, ldb, copy, row, blocks_n);
  CUDA_CHECK(cudaGetLastError());
  ldb = row;
  return &copy->x;
}
