// How few_rows.cuh cuts its work. Apart from it, so that a test can ask.
#pragma once
#include <cstddef>

constexpr int kFewRowsThreads = 256;

// Tiles of C `width` threads wide, and into how many slices k may be cut.
struct FewRowsTiles {
  std::size_t tiles, width, slices;
};

// For rows of `chunks` threads. Tiles have a block's width if they, or their slices, are enough for the GPU. Else they
// are narrower, down to a warp: a block's rows of threads share k, and more blocks run without a second kernel.
inline FewRowsTiles few_rows_tiles(std::size_t chunks, std::size_t K, std::size_t sms, std::size_t resident) {
  constexpr std::size_t least_k = 32;  // of a slice, for each row of threads
  for (std::size_t widest = kFewRowsThreads;; widest /= 2) {
    const std::size_t tiles = (chunks + widest - 1) / widest, width = (chunks + tiles - 1) / tiles;
    const std::size_t slices = K / (least_k * (kFewRowsThreads / width));
    if (widest == 32 || tiles >= sms || tiles * slices >= resident) return {tiles, width, slices};
  }
}
