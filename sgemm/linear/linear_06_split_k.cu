// Problem:  64 rows are one row of tiles: with n = 11008 step 05 has 43 blocks for 132 SMs. Tiles have 128 rows, so
//           each block multiplies for 64 steps of 1024 clocks, longer than DRAM needs for W.
// Idea:     split k: as many slices as fill the SMs. Blocks store their sums as floats; a second kernel adds a tile's
//           slices and the bias, and applies GELU, which isn't linear: GELU of a slice's sum has no meaning.
// Expect:   1.05 to 1.3x step 05, 0.7 to 0.9x cuBLASLt at 64 x 11008 x 4096. Products take 12 us, not 35, but launch,
//           first loads and epilogue aren't split, and a launch is added. If tiles fill half the SMs, step 05 runs.
// Measured: 1.00x step 05, 0.96x cuBLASLt at 4096 (H200).
// Next:     who could add the slices without a second kernel? (The last block of a tile, or a cluster's blocks.)
// needs: sm_90a
#include "linear_05_persistent.cu"

// k is split into `slices` slices of `each` steps; the last has the rest. Sums of slice s go to partials + s M N.
__global__ void __launch_bounds__(kThreads, 1)
    linear_slices(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap W,
                  float* __restrict__ partials, unsigned M, unsigned N, unsigned steps, unsigned each, unsigned slices,
                  unsigned tiles_m, unsigned tiles_n) {
  const auto place = [&](unsigned index) {
    const Tile at = tile_place(index / slices, tiles_m, tiles_n);
    const unsigned first = index % slices * each;
    return Place{at.row * BM, at.col * BN, first, min(each, steps - first)};
  };
  const auto finish = [&](const float(&acc)[128], Shared& shared, const Place& at, unsigned index) {
    float* to = partials + std::size_t{index % slices} * M * N;
    store_by_threads(acc, shared, to, M, N, at.row, at.col, N % 4 == 0);
  };
  run_tiles(&A, &W, tiles_m * tiles_n * slices, place, finish);
}

// Computes C = gelu(sum of the slices + bias). A block has 256 columns of one row.
__global__ void linear_add_slices(const float* __restrict__ partials, unsigned slices,
                                  const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, std::size_t M,
                                  std::size_t N, unsigned blocks_n) {
  const std::size_t col = std::size_t{blockIdx.x % blocks_n} * 256 + threadIdx.x, row = blockIdx.x / blocks_n;
  if (col >= N) return;
  float sum = 0.0f;
#pragma unroll 4
  for (unsigned s = 0; s < slices; ++s) sum += partials[(s * M + row) * N + col];
  C[row * N + col] = __float2bfloat16(gelu_tanh(sum + __bfloat162float(bias[col])));
}

static void launch_split_k(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                           std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  // as many slices as the SMs run at once, of at least 4 steps
  const std::size_t tiles_m = ceil_div(M, BM), tiles_n = ceil_div(N, BN), tiles = tiles_m * tiles_n;
  const std::size_t steps = ceil_div(K, BK), wanted = std::min(sm_count() / tiles, steps / 4);
  if (wanted < 2) return launch_persistent(A, W, bias, C, M, N, K);
  const std::size_t each = ceil_div(steps, wanted), slices = ceil_div(steps, each);
  float* partials = scratch<float, struct Slices>(slices * M * N);
  const auto [map_a, map_w] = maps_of(A, W, M, N, K);
  CUDA_CHECK(cudaFuncSetAttribute(linear_slices, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  linear_slices<<<static_cast<unsigned>(tiles * slices), kThreads, kBytes>>>(map_a, map_w, partials, M, N, steps, each,
                                                                             slices, tiles_m, tiles_n);
  CUDA_CHECK(cudaGetLastError());
  const auto blocks_n = static_cast<unsigned>(ceil_div(N, 256));
  linear_add_slices<<<static_cast<unsigned>(M * blocks_n), 256>>>(partials, slices, bias, C, M, N, blocks_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(LinearByTma, launch_split_k);
