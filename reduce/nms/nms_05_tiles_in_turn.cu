// Problem:  steps 02 to 04 write a mask of n^2 / 8 bytes and read it once; decisions wait until it is complete.
// Idea:     one kernel, one block per 64 boxes, no mask. A block compares its boxes with those of each earlier tile,
//           waits for the flags that the tile's block publishes, then settles and publishes its own 64.
// Expect:   0.7 to 2x step 04, more at 65536: comparisons run while other blocks wait, but each link of the chain is a
//           round trip to L2. Memory is 16 bytes per 64 boxes instead of n / 8 per box, so n = 2^18 needs no 8 GB.
// Measured: 1.62x step 04, 5.16 TFLOP/s at 65536 (H200).
// Next:     only a kept box can suppress. When is it better to wait first and compare with kept boxes only?
#include "../look_back.cuh"
#include "box.cuh"
#include "nms.cuh"

using Mask = unsigned long long;
constexpr int kTile = 64;  // boxes and threads of a block

// Waits until a tile's flags are published and returns them. They are two status words with 32 flags each: flags and
// state share a word, so no fence is needed.
__device__ static Mask kept_of(const LookBackWord* words, std::size_t tile) {
  Mask kept = 0;
  for (int half = 0; half < 2; ++half) {
    LookBackWord word;
    do {
      word = *static_cast<const volatile LookBackWord*>(words + 1 + 2 * tile + half);
    } while (word >> kLookBackShift == kNothing);
    kept |= look_back_value<LookBackWord>(word) << 32 * half;
  }
  return kept;
}

__global__ void nms_tiles_in_turn(const float* __restrict__ boxes, std::int8_t* __restrict__ keep, std::size_t n,
                                  float threshold, LookBackWord* words) {
  __shared__ Box tile[kTile];
  __shared__ Mask diagonal[kTile], shared_kept;
  __shared__ unsigned there_in_warp[2];
  const unsigned t = threadIdx.x, number = take_tile(words);  // blocks with smaller numbers are running or done
  const std::size_t i = std::size_t{number} * kTile + t;
  const Box box = i < n ? load_box(boxes, i) : Box{};  // Box{} has no area: suppresses nothing
  tile[t] = box;
  __syncthreads();
  Mask own = 0;
  for (int b = t + 1; b < kTile; ++b) own |= Mask{suppresses(box, tile[b], threshold)} << b;
  diagonal[t] = own;

  // remove boxes that kept boxes of earlier tiles suppress; earlier tiles are full
  bool removed = i >= n;
  for (std::size_t before = 0; before < number; ++before) {
    __syncthreads();  // all threads have read the tile
    tile[t] = load_box(boxes, before * kTile + t);
    __syncthreads();
    Mask by = 0;
    for (int b = 0; b < kTile; ++b) by |= Mask{suppresses(tile[b], box, threshold)} << b;
    removed |= (by & kept_of(words, before)) != 0;
  }

  // settle and publish
  const unsigned there_here = __ballot_sync(0xffffffff, !removed);
  if (t % 32 == 0) there_in_warp[t / 32] = there_here;
  __syncthreads();
  if (t == 0) {
    Mask there = Mask{there_in_warp[1]} << 32 | there_in_warp[0], kept = 0;
    while (there != 0) {
      const int b = __ffsll(there) - 1;
      kept |= Mask{1} << b;
      there &= ~(diagonal[b] | Mask{1} << b);
    }
    publish(words + 1 + 2 * number, kPrefix, kept & 0xffffffff);
    publish(words + 2 + 2 * number, kPrefix, kept >> 32);
    shared_kept = kept;
  }
  __syncthreads();
  if (i < n) keep[i] = shared_kept >> t & 1;
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  nms_tiles_in_turn<<<tiles, kTile>>>(boxes, keep, n, threshold, look_back_words(2 * std::size_t{tiles}));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch);
