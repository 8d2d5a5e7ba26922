// Step 01 reads 4 bytes per load, and carries a 64-bit index with each. Idea: float4, and one index for four elements:
// the greatest of the four keys is compared, and only if it is above the best so far its place is noted. Which of the
// four it was is found out at the end, in the one float4 that won.
// Expect: near the speed of a kernel that only reads.
// Next question: a warp meets "key > best.key" in some lanes only. Does that diverge? (It is a select, not a branch.)
#include "best.cuh"

constexpr int kBlock = 256;

__global__ void argmax_float4(const float* __restrict__ x, Best* __restrict__ bests, std::size_t n, bool aligned) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  Best best = nothing();
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0;
  for (std::size_t i = thread; i < n4; i += threads) {
    const float4 v = x4[i];
    const int key = max(max(argmax_key(v.x), argmax_key(v.y)), max(argmax_key(v.z), argmax_key(v.w)));
    if (key > best.key) best = {key, static_cast<long long>(4 * i)};
  }
  if (best.index >= 0) {
    while (argmax_key(x[best.index]) != best.key) ++best.index;  // the first of the four
  }
  for (std::size_t i = 4 * n4 + thread; i < n; i += threads) {
    const int key = argmax_key(x[i]);
    if (key > best.key) best = {key, static_cast<long long>(i)};
  }
  best = block_best_once<kBlock>(best);
  if (threadIdx.x == 0) bests[blockIdx.x] = best;
}

__global__ void argmax_float4_finish(const Best* __restrict__ bests, std::int64_t* __restrict__ out, unsigned blocks) {
  Best best = nothing();
  for (unsigned b = threadIdx.x; b < blocks; b += kBlock) {
    const Best other = bests[b];
    if (other.key > best.key || (other.key == best.key && other.index < best.index)) best = other;
  }
  best = block_best_once<kBlock>(best);
  if (threadIdx.x == 0) *out = best.index;
}

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  const std::size_t resident = resident_blocks(argmax_float4, kBlock);
  const auto grid = static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
  Best* bests = scratch<Best>(grid);
  argmax_float4<<<grid, kBlock>>>(x, bests, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
  argmax_float4_finish<<<1, kBlock>>>(bests, out, grid);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Argmax, launch);
