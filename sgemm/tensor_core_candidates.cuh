// The kernels that gemm_bf16_any_shape and sgemm_tf32_any_shape choose from.
#pragma once
#include "few_columns.cuh"
#include "few_rows.cuh"
#include "mma_tile.cuh"
#include "scaled_matrix.cuh"
#ifndef CUDA_EMU  // the CPU backend has neither TMA nor wgmma
#include "wgmma_128.cuh"
#include "with_tma.cuh"

static __device__ bool is_sm90a = compiles_for_sm90a();  // true if this GPU runs code for sm_90a
#endif

#include "any_shape.cuh"

template <typename T>
struct GemmCall : Product<T> {
  Shape shape() const {
    return {this->M,
            this->N,
            this->K,
            this->lda,
            this->ldb,
            this->ldc,
            alignment(this->A),
            alignment(this->B),
            alignment(this->C),
            std::size_t{this->beta != 0}};
  }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(this->C, (this->M - 1) * this->ldc + this->N, this->beta != 0);
  }
};

inline bool has_mma() { return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 8; }
#ifndef CUDA_EMU
inline bool has_wgmma() {
  static const bool has = [] {  // once, because it waits for the GPU
    bool is_compiled = false;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return false;
    CUDA_CHECK(cudaMemcpyFromSymbol(&is_compiled, is_sm90a, sizeof is_compiled));
    return is_compiled;
  }();
  return has;
}
#endif

// Tiles are as low or as narrow as C, otherwise 64 x 64.
template <typename T>
void launch_small_tiles(const Product<T>& p) {
  if (p.M <= 16 && p.N <= 32) return launch_mma<16, 32, 1, 2>(p);
  if (p.M <= 16) return launch_mma<16, 256, 1, 8>(p);
  if (p.N <= 16) return launch_mma<128, 16, 8, 1>(p);
  if (p.M <= 32) return launch_mma<32, 128, 2, 4>(p);
  if (p.N <= 32) return launch_mma<128, 32, 8, 1>(p);
  launch_mma<64, 64, 2, 2>(p);
}

// W is that of wgmma_128.cuh, and W::launch_large_tiles(call) runs the last step's kernel. M, N, K, alpha are not 0.
template <typename W>
void launch_any_shape(const GemmCall<typename W::T>& call) {
  using Call = GemmCall<typename W::T>;
  static const Candidate<Call> kCandidates[] = {
      {"small_k", [](const Call& c) { return c.K <= 8; }, [](const Call& c) { launch_small_k(c); }},
      {"few_rows_or_columns", [](const Call& c) { return c.M <= 4 || c.N <= 4; },
       [](const Call& c) { c.M <= 4 ? launch_few_rows(c) : launch_few_columns(c); }},
#ifndef CUDA_EMU
      {"large_tiles", [](const Call& c) { return c.M > 16 && c.N > 16 && has_wgmma(); }, W::launch_large_tiles},
      {"wgmma_cluster", [](const Call& c) { return c.M > 16 && c.N > 16 && has_wgmma(); },
       [](const Call& c) { launch_wgmma_cluster<W>(c); }},
      {"wgmma_slices", [](const Call& c) { return wgmma_slices(c) > 1 && has_wgmma(); },
       [](const Call& c) { launch_wgmma_slices<W>(c); }},
#endif
      {"mma_128", [](const Call& c) { return c.M > 32 && c.N > 32 && has_mma(); },
       [](const Call& c) { launch_mma<128, 128, 2, 4>(c); }},
      {"mma_small_tiles", [](const Call&) { return has_mma(); }, [](const Call& c) { launch_small_tiles(c); }},
      // FP32 without tiles: for few sums, and for all calls on a GPU before sm_80
      {"dot", [](const Call& c) { return (c.K >= 512 && c.M * c.N <= 1024) || !has_mma(); },
       [](const Call& c) { launch_dot(c); }},
  };
  launch_fastest(kCandidates, call);
}
