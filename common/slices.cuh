// Chooses the number of slices for kernels that split a sum (split-K) so that a few blocks fill the GPU.
#pragma once
#include "cuda_helpers.cuh"

#include <algorithm>

// `blocks`: blocks per slice; `resident`: blocks that fit on the GPU at once. Returns 1 to `most` slices. It tries
// numbers of waves, from the fewest that hold `least` slices up to 8, and takes the first that is 95 % full, else the
// fullest. With more than 8 waves the partly empty last wave hardly matters, so the result is `least`.
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
