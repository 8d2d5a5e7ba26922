// Problem:  in step 01 a layer's few blocks have the GPU to themselves, and the next layer waits for the last of them.
// Idea:     one launch for all tiles of all layers. The block's index gives the layer, then the tile in it; the rest is
//           linear 03's kernel. One tail for the whole batch.
// Expect:   5 to 8x step 01, 0.45 to 0.6x cuBLASLt at 16 x 512 x 1024 x 1024: 512 tiles, two per SM at a time, are 1.9
//           waves. At 8 x 2048 cubed 1.05 to 1.3x: there a layer nearly fills the GPU, and only 7 tails are saved.
// Measured: 5.40x step 01, 0.48x cuBLASLt at 16x512x1024x1024 (H200).
// Next:     how would TMA load it, whose map describes one matrix? (All layers' A are one matrix of b m rows.)
// needs: sm_80
#include "linear_batched.cuh"
#include "linear_03_cp_async.cu"

// Block i computes tile i % (tiles_m tiles_n) of layer i / (tiles_m tiles_n).
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    linear_batched_one_launch(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                              const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, long long M,
                              long long N, long long K, unsigned tiles_m, unsigned tiles_n, bool pairs) {
  const unsigned tiles = tiles_m * tiles_n;
  const long long layer = blockIdx.x / tiles;  // 64 bits: layer * N * K may pass 2^31
  multiply_tile<kAligned>(A + layer * M * K, W + layer * N * K, bias + layer * N, C + layer * M * N, M, N, K,
                          tile_place(blockIdx.x % tiles, tiles_m, tiles_n), pairs);
}

static void launch_batch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                         std::size_t b, std::size_t m, std::size_t n, std::size_t k) {
  if (b == 0 || m == 0 || n == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  const bool aligned = aligned_for<uint4>(A, W) && k % 8 == 0 && k > 0;  // and so is every layer
  const auto kernel = aligned ? linear_batched_one_launch<true> : linear_batched_one_launch<false>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(b) * tiles_m * tiles_n, kThreads, bytes>>>(A, W, bias, C, m, n, k, tiles_m, tiles_n,
                                                                            has_pairs(C, n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(LinearBatched, launch_batch);
