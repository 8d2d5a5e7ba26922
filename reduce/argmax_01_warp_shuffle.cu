// A maximum that remembers where it was. Lanes hand over two values, an ordered integer (see max_03) and an index; of
// equal keys the smaller index wins, everywhere: then the order in which they meet does not matter. A thread alone
// walks upwards, so a later equal never replaces an earlier one. Blocks leave a pair each, and a second launch looks
// through these.
// Expect: four fifths of the memory's speed, as the scalar kernels before; keys and indices cost some ten instructions
// per element, and there are enough.
// Next question: which of two equal maxima does "key > best.key" alone return? (Any, once lanes and blocks meet.)
#include "best.cuh"

constexpr int kBlock = 256;

__global__ void argmax_warp_shuffle(const float* __restrict__ x, Best* __restrict__ bests, std::size_t n) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  Best best = nothing();
  for (std::size_t i = thread; i < n; i += threads) {
    const int key = argmax_key(x[i]);
    if (key > best.key) best = {key, static_cast<long long>(i)};
  }
  best = block_best_once<kBlock>(best);
  if (threadIdx.x == 0) bests[blockIdx.x] = best;
}

__global__ void argmax_warp_shuffle_finish(const Best* __restrict__ bests, std::int64_t* __restrict__ out,
                                           unsigned blocks) {
  Best best = nothing();
  for (unsigned b = threadIdx.x; b < blocks; b += kBlock) {
    const Best other = bests[b];
    if (other.key > best.key || (other.key == best.key && other.index < best.index)) best = other;
  }
  best = block_best_once<kBlock>(best);
  if (threadIdx.x == 0) *out = best.index;
}

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  const std::size_t resident = resident_blocks(argmax_warp_shuffle, kBlock);
  const auto grid = static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
  Best* bests = scratch<Best>(grid);
  argmax_warp_shuffle<<<grid, kBlock>>>(x, bests, n);
  CUDA_CHECK(cudaGetLastError());
  argmax_warp_shuffle_finish<<<1, kBlock>>>(bests, out, grid);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Argmax, launch);
