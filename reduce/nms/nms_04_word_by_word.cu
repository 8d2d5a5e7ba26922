// Problem:  step 03 waits for memory once per kept box, because the next flag may depend on that row.
// Idea:     64 boxes at a time. Their flags depend on each other through the 64 words of the diagonal, loaded ahead;
//           one thread settles them. Then each warp ORs in a kept row, by atomics, because rows share words.
// Expect:   3 to 15x step 03 up to 4096 boxes: two barriers and one wait per 64 boxes, not per kept box. 1.5 to 2x at
//           65536, where rows are 8 KB and a warp has 1 KB of its row in flight; filling the mask takes as long.
// Measured: 3.77x step 03, 1.89 TFLOP/s at 16384 (H200).
// Next:     the mask is written and read once. Could the comparisons happen where their result is needed?
#include "nms.cuh"
#include "overlap_mask.cuh"

constexpr int kBlock = 1024, kWarps = kBlock / 32, kAhead = 4;  // kAhead: words that a lane loads before use

__global__ void nms_word_by_word(const Mask* __restrict__ mask, std::int8_t* __restrict__ keep, std::size_t n,
                                 std::size_t words) {
  extern __shared__ Mask removed[];
  __shared__ Mask diagonal[kTile], shared_kept;
  const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (std::size_t c = threadIdx.x; c < words; c += kBlock) removed[c] = 0;
  const auto diagonal_word = [=](std::size_t c) {
    const std::size_t i = c * kTile + t;
    return t < kTile && i < n ? mask[i * words + c] : 0;
  };
  Mask next = diagonal_word(0);

  for (std::size_t c = 0; c < words; ++c) {
    const auto count = static_cast<unsigned>(min(std::size_t{kTile}, n - c * kTile));
    if (t < kTile) diagonal[t] = next;
    __syncthreads();

    // settle: the first remaining box is kept and removes others
    if (t == 0) {
      Mask there = ~removed[c] & (count < kTile ? (Mask{1} << count) - 1 : ~Mask{0}), kept = 0;
      while (there != 0) {
        const int b = __ffsll(there) - 1;
        kept |= Mask{1} << b;
        there &= ~(diagonal[b] | Mask{1} << b);
      }
      shared_kept = kept;
    }
    __syncthreads();

    // remove: OR the rows of the kept boxes into later words
    const Mask kept = shared_kept;
    if (t < count) keep[c * kTile + t] = kept >> t & 1;
    if (c + 1 < words) next = diagonal_word(c + 1);
    for (unsigned b = warp; b < kTile; b += kWarps) {
      if ((kept >> b & 1) == 0) continue;  // the whole warp
      const Mask* row = mask + (c * kTile + b) * words;
      for (std::size_t first = c + 1 + lane; first < words; first += 32 * kAhead) {
        Mask word[kAhead];
        for (int k = 0; k < kAhead; ++k) word[k] = first + 32 * k < words ? row[first + 32 * k] : 0;
        for (int k = 0; k < kAhead; ++k)
          if (word[k] != 0) atomicOr(removed + first + 32 * k, word[k]);
      }
    }
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  const std::size_t words = ceil_div(n, kTile);
  const Mask* mask = overlap_mask(boxes, n, words, threshold);
  nms_word_by_word<<<1, kBlock, words * sizeof(Mask)>>>(mask, keep, n, words);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch, 1.0 / 8);
