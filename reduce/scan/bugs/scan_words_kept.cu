// bug: the previous launch's words are not cleared, so a tile takes an old sum for the new one
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right | races and barriers
#include "../../block_scan.cuh"
#include "../scan.cuh"
#include "../../scan_tile.cuh"

constexpr int kBlock = 256, kTile = 4 * kBlock;

// A tile's status word: the state in the upper half, a float in the lower half. The 64-bit word is read and written as
// a whole, so a thread that sees the state also sees its value, and no fence is needed between them.
using Word = unsigned long long;
enum State : unsigned { kNothing, kSum, kPrefix };  // empty; the tile's sum; the sum of all tiles up to this one

__device__ static void publish(Word* word, State state, float value) {
  atomicExch(word, static_cast<Word>(state) << 32 | __float_as_uint(value));
}

// words: a counter of tiles taken, then one status word per tile; all 0.
__global__ void scan_words_kept(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive,
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

  // look back
  if (threadIdx.x == 0) {
    float before = 0.0f;
    if (tile > 0) {
      publish(of_tile, kSum, scan.total);
      Word word;
      const volatile Word* other = of_tile;
      do {
        --other;
        while ((word = *other) >> 32 == kNothing) {
        }
        before += __uint_as_float(static_cast<unsigned>(word));
      } while (word >> 32 != kPrefix);
    }
    publish(of_tile, kPrefix, before + scan.total);
    shared_before = before;
  }
  __syncthreads();

  // store
  store4(out, i, n, aligned, scan4(v, shared_before + scan.before, exclusive));
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  static DeviceBuffer<Word> buffer;
  if (buffer.count() < tiles + 1) {
    buffer.reserve(tiles + 1);
    CUDA_CHECK(cudaMemsetAsync(buffer.get(), 0, (tiles + 1) * sizeof(Word)));
  }
  Word* words = buffer.get();
  CUDA_CHECK(cudaMemsetAsync(words, 0, sizeof(Word)));  // clears only the counter of tiles taken
  scan_words_kept<<<tiles, kBlock>>>(x, out, n, exclusive, aligned_for<float4>(x, out), words);
  CUDA_CHECK(cudaGetLastError());
}

// In a tile as in step 07; then at most the sums of all tiles one after another.
LADDER_STEP(Scan, launch, [](std::size_t n) { return 16 + ceil_div(n, kTile); });
