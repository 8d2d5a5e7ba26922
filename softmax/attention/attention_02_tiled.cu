// Problem:  step 01 loads every element of Q, K and V again for each score or element of O that needs it.
// Idea:     tiled GEMMs. A block computes 32 x 32 scores, or elements of O, from tiles in shared memory. Each loaded
//           element is used 32 times, and all loads are coalesced.
// Expect:   2 to 4x step 01: the scores, 1.1 GB at 64 heads of 2048, still go to memory and back.
// Measured: 7.65x step 01, 6.93 TFLOP/s at 64x2048x2048 (H200).
// Next:     which of these bytes does the result need?
#include "attention.cuh"
#include "attention_scores.cuh"  // kBlock, attention_softmax

constexpr unsigned kTile = 32;

// Computes s = q . k / sqrt(d), or -inf under the mask: query i attends to the keys j <= i + keys - queries.
__global__ void attention_scores_tiled(const float* __restrict__ Q, const float* __restrict__ K,
                                       float* __restrict__ scores, unsigned tiles_m, unsigned tiles_n,
                                       long long queries, long long keys, int d, bool causal) {
  __shared__ float Qs[kTile][kTile], Ks[kTile][kTile + 1];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t head = blockIdx.x / tiles_n / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n % tiles_m) * kTile;
  const long long key0 = static_cast<long long>(blockIdx.x % tiles_n) * kTile;
  const long long i = row0 + ty, j = key0 + tx;
  Q += head * queries * d;
  K += head * keys * d;
  float sum = 0.0f;
  for (int c0 = 0; c0 < d; c0 += kTile) {
    Qs[ty][tx] = i < queries ? Q[i * d + c0 + tx] : 0.0f;
    Ks[ty][tx] = key0 + ty < keys ? K[(key0 + ty) * d + c0 + tx] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned c = 0; c < kTile; ++c) sum += Qs[ty][c] * Ks[tx][c];
    __syncthreads();
  }
  if (i >= queries || j >= keys) return;
  scores[(head * queries + i) * keys + j] =
      causal && j > i + keys - queries ? -INFINITY : sum / sqrtf(static_cast<float>(d));
}

__global__ void attention_output_tiled(const float* __restrict__ weights, const float* __restrict__ V,
                                       float* __restrict__ O, unsigned tiles_m, unsigned tiles_n, std::size_t queries,
                                       std::size_t keys, int d) {
  __shared__ float Ps[kTile][kTile], Vs[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t head = blockIdx.x / tiles_n / tiles_m;
  const std::size_t i = std::size_t{blockIdx.x / tiles_n % tiles_m} * kTile + ty;
  const std::size_t col = blockIdx.x % tiles_n * kTile + tx;
  weights += (head * queries + i) * keys;
  V += head * keys * d;
  float sum = 0.0f;
  for (std::size_t j0 = 0; j0 < keys; j0 += kTile) {
    Ps[ty][tx] = i < queries && j0 + tx < keys ? weights[j0 + tx] : 0.0f;
    Vs[ty][tx] = j0 + ty < keys ? V[(j0 + ty) * d + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < kTile; ++j) sum += Ps[ty][j] * Vs[j][tx];
    __syncthreads();
  }
  if (i < queries) O[(head * queries + i) * d + col] = sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  const std::size_t rows = heads * queries, count = rows * keys;
  if (rows == 0) return;
  float* scores = scratch<float>(count);
  const dim3 block(kTile, kTile);
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, kTile));
  const auto tiles_n = static_cast<unsigned>(ceil_div(keys, kTile)), tiles_d = d / kTile;
  if (count > 0) {
    const auto grid = static_cast<unsigned>(heads * tiles_m * tiles_n);
    attention_scores_tiled<<<grid, block>>>(Q, K, scores, tiles_m, tiles_n, queries, keys, d, causal);
    attention_softmax<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(scores, rows, keys);
  }
  const auto grid = static_cast<unsigned>(heads * tiles_m * tiles_d);
  attention_output_tiled<<<grid, block>>>(scores, V, O, tiles_m, tiles_d, queries, keys, d);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, division, and the sum over the keys. Denominator: exp; a lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t keys) { return 4 + 1 + keys + 4 + ceil_div(keys, 32) + 5; }

LADDER_STEP(Attention, launch, roundings, true);
