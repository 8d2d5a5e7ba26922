// How many slices a kernel cuts its sums into, each for a block of its own.
#pragma once
#include "cuda_helpers.cuh"

#include <algorithm>

// A kernel takes `blocks` blocks per slice; `resident` blocks fit on the GPU at once. The slices, at least 1 and at most
// `most`, that fill whole waves to 95 %, in as few waves as possible, but enough for about `least` slices; if none do,
// the best of 8 waves. More blocks than that need no slices: the last wave is one of many.
inline std::size_t slices_for(std::size_t blocks, std::size_t resident, std::size_t most, std::size_t least = 1) {
  constexpr std::size_t most_waves = 8;
  std::size_t best = std::clamp<std::size_t>(least, 1, std::max<std::size_t>(most, 1));
  double best_fill = 0;
  for (std::size_t waves = ceil_div(blocks * best, resident); waves <= most_waves && best_fill < 0.95; ++waves) {
    const std::size_t slices = std::min(waves * resident / blocks, most);
    const double fill = static_cast<double>(slices * blocks) / static_cast<double>(waves * resident);
    if (fill > best_fill) {
      best = slices;
      best_fill = fill;
    }
  }
  return best;
}
