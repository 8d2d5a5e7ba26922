// Sizes at which errors in tensor-core products show.
#pragma once
#include "gemm.cuh"

// m, n, k, lda, ldb, ldc and the scalars: empty; one row, column or product; around fragments of 8 and 16 and tiles of
// 32 to 256; k of several stages, with a remainder, or long enough for slices; unaligned rows, and one unaligned
// leading dimension at a time; gaps after rows; k up to 8; more than 8 rows of tiles; more tiles than SMs.
inline std::vector<ladder::Size> tensor_core_sizes() {
  std::vector<ladder::Size> sizes = {{{0, 0, 0, 0, 0, 0}, {1, 0}},           {{0, 5, 3, 0, 0, 0}, {1, 0}},
                                     {{5, 0, 3, 0, 0, 0}, {1, 1}},           {{5, 7, 0, 0, 0, 0}, {1, 0}},
                                     {{6, 9, 0, 3, 12, 10}, {2, -0.5f}},     {{33, 40, 20, 0, 0, 0}, {0, 0}},
                                     {{33, 40, 20, 0, 0, 44}, {0, 0.5f}},    {{1, 1, 1, 0, 0, 0}, {1, 0}},
                                     {{1, 67, 5, 0, 0, 0}, {1.5f, 1}},       {{71, 1, 6, 0, 0, 0}, {1, 0}},
                                     {{2, 3, 4, 5, 6, 7}, {2, 1}},           {{8, 8, 8, 0, 0, 0}, {1, 0}},
                                     {{16, 16, 16, 0, 0, 0}, {1, 0}},        {{17, 15, 33, 0, 0, 0}, {0.25f, 4}},
                                     {{15, 24, 17, 24, 32, 40}, {1, 1}},     {{63, 65, 15, 16, 72, 72}, {1, 1}},
                                     {{65, 63, 70, 72, 64, 64}, {3, 0.5f}},  {{128, 128, 64, 0, 0, 0}, {1, 0}},
                                     {{127, 129, 8, 0, 136, 136}, {1, 0}},   {{129, 136, 264, 0, 0, 0}, {1, 1}},
                                     {{130, 264, 40, 40, 264, 264}, {1, 1}}, {{64, 72, 321, 328, 0, 0}, {-0.5f, 0}},
                                     {{7, 5, 521, 528, 0, 0}, {1, 0}},       {{64, 64, 32, 33, 0, 0}, {1, 0}},
                                     {{64, 64, 32, 0, 68, 0}, {1, 0}},       {{64, 64, 32, 0, 0, 66}, {1, 1}},
                                     {{128, 128, 36, 40, 0, 0}, {1, 0}},     {{20, 70, 40, 0, 0, 0}, {1, 0}},
                                     {{70, 20, 37, 0, 0, 0}, {2, 1}},        {{20, 18, 1601, 1602, 0, 0}, {1, 0.5f}},
                                     {{3, 1030, 70, 0, 1032, 0}, {1, 1}},    {{2, 130, 1001, 0, 136, 0}, {1, 0.5f}},
                                     {{1, 300, 200, 0, 0, 0}, {1, 0}},       {{1100, 140, 9, 0, 0, 0}, {1, 0}},
                                     {{21, 300, 3, 5, 0, 0}, {2, -1}},       {{857, 1, 13, 15, 3, 2}, {0.5f, 2}},
                                     {{301, 2, 100, 0, 3, 5}, {1, 0}},       {{300, 3, 300, 301, 0, 4}, {1, 1}},
                                     {{10, 16, 1301, 0, 20, 0}, {1, 0.5f}},  {{16, 40, 1304, 0, 0, 0}, {1, 0}}};
#ifndef CUDA_EMU  // for kernels that the CPU backend can't run: several large tiles, a long k
  sizes.push_back({{72, 200, 21688, 0, 0, 0}, {1, 0}});
  sizes.push_back({{72, 200, 21687, 0, 204, 203}, {0.5f, 1}});
  sizes.push_back({{515, 520, 300, 0, 0, 0}, {2, 1}});
  sizes.push_back({{520, 513, 261, 0, 0, 0}, {1, 0}});
  sizes.push_back({{140, 2001, 521, 0, 0, 0}, {1, 0}});
  sizes.push_back({{300, 1032, 600, 0, 0, 0}, {1, 1}});
  const std::size_t one_more_tile = 128 * static_cast<std::size_t>(sm_count()) + 1;
  sizes.push_back({{one_more_tile, 72, 330, 336, 0, 0}, {1, 0}});
  sizes.push_back({{one_more_tile, 72, 330, 336, 0, 75}, {0.5f, 1}});
#endif
  return sizes;
}
