// Problem:  in step 08 one thread looks back, one tile per round trip to L2, while the rest of its block waits.
// Idea:     a warp looks back: its lanes read the status words of 32 tiles in one request. A ballot finds the nearest
//           tile with a prefix, and a tree of shuffles adds the tiles up to that one.
// Expect:   1.5 to 4x step 08 at 2^28: passing tiles that have published only sums takes 30 times fewer round trips.
// Measured: 2.20x step 08, 0.67x CUB at 2^28 (H200).
// Next:     the tiles are still 4 KB. How many per microsecond would a copy at 4 TB/s move? (500: step 10.)
#include "../block_scan.cuh"
#include "scan.cuh"
#include "../scan_tile.cuh"

constexpr int kBlock = 256, kTile = 4 * kBlock;

// A tile's status word, as in step 08: state in the upper half, float in the lower, read and written as a whole.
using Word = unsigned long long;
enum State : unsigned { kNothing, kSum, kPrefix };  // empty; the tile's sum; the sum of all tiles up to this one

__device__ static void publish(Word* word, State state, float value) {
  atomicExch(word, static_cast<Word>(state) << 32 | __float_as_uint(value));
}

// words: a counter of tiles taken, then one status word per tile; all 0.
__global__ void scan_warp_look_back(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive,
                                    bool aligned, Word* words) {
  __shared__ unsigned shared_tile;
  __shared__ float shared_before;
  // take the next tile: smaller numbers belong to blocks that already run, so every wait for them ends
  if (threadIdx.x == 0) shared_tile = static_cast<unsigned>(atomicAdd(words, 1));
  __syncthreads();
  const unsigned tile = shared_tile;
  Word* const of_tile = words + 1 + tile;

  // load, and scan within the tile
  const std::size_t i = std::size_t{tile} * kTile + 4 * threadIdx.x;
  const float4 v = load4(x, i, n, aligned);
  const BlockScan<float> scan = block_scan<kBlock>(sum4(v));

  // look back: lane 0 of warp 0 reads the tile just before this one, lane 31 the 32nd before
  if (threadIdx.x < 32) {
    const int lane = threadIdx.x;
    if (lane == 0) publish(of_tile, tile == 0 ? kPrefix : kSum, scan.total);
    float before = 0.0f;
    for (long long nearest = static_cast<long long>(tile) - 1; nearest >= 0; nearest -= 32) {
      // read until all tiles up to the nearest prefix have published; before tile 0 the prefix is 0
      const long long other = nearest - lane;
      Word word;
      unsigned prefixes, wanted;
      do {
        word = other >= 0 ? *static_cast<const volatile Word*>(words + 1 + other) : Word{kPrefix} << 32;
        prefixes = __ballot_sync(0xffffffff, word >> 32 == kPrefix);
        wanted = prefixes ^ (prefixes - 1);  // the lanes up to the first one with a prefix, or all lanes
      } while ((__ballot_sync(0xffffffff, word >> 32 != kNothing) & wanted) != wanted);
      // add the values of these lanes
      float sum = wanted >> lane & 1 ? __uint_as_float(static_cast<unsigned>(word)) : 0.0f;
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
      before += sum;
      if (prefixes != 0) break;
    }
    if (lane == 0 && tile > 0) publish(of_tile, kPrefix, before + scan.total);
    if (lane == 0) shared_before = before;
  }
  __syncthreads();

  // store
  store4(out, i, n, aligned, scan4(v, shared_before + scan.before, exclusive));
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  Word* words = scratch<Word>(tiles + 1);
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(Word)));  // clears the last launch's words
  scan_warp_look_back<<<tiles, kBlock>>>(x, out, n, exclusive, aligned_for<float4>(x, out), words);
  CUDA_CHECK(cudaGetLastError());
}

// In a tile as in step 07; then at most the sums of all tiles one after another.
LADDER_STEP(Scan, launch, [](std::size_t n) { return 16 + ceil_div(n, kTile); });
