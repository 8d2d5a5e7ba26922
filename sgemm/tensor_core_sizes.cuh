// The sizes at which products on tensor cores go wrong.
#pragma once
#include "gemm.cuh"

// m, n, k, lda, ldb, ldc and the scalars. Empty, one row, one column, one product; around a fragment of 8 and 16, and
// tiles of 32, 64, 128 and 256; k of several stages, with and without a remainder; rows that are not 16-byte aligned;
// gaps behind the rows; one leading dimension at a time that is not a multiple of 8; what the tiles of gemm_shapes.hpp
// and slices of k need, and sums of 1 to 4 products (a test sees to it); more than 8 rows of tiles; more tiles than
// blocks of a persistent grid, where a tile has 128 rows.
inline std::vector<ladder::Size> tensor_core_sizes() {
  std::vector<ladder::Size> sizes = {{{0, 0, 0, 0, 0, 0}, {1, 0}},           {{0, 5, 3, 0, 0, 0}, {1, 0}},
                                     {{5, 0, 3, 0, 0, 0}, {1, 1}},           {{5, 7, 0, 0, 0, 0}, {1, 0}},
                                     {{6, 9, 0, 3, 12, 10}, {2, -0.5f}},     {{33, 40, 20, 0, 0, 0}, {0, 0}},
                                     {{33, 40, 20, 0, 0, 44}, {0, 0.5f}},    {{1, 1, 1, 0, 0, 0}, {1, 0}},
                                     {{1, 1, 301, 0, 0, 0}, {-1, 2}},        {{1, 67, 5, 0, 0, 0}, {1.5f, 1}},
                                     {{71, 1, 6, 0, 0, 0}, {1, 0}},          {{2, 3, 4, 5, 6, 7}, {2, 1}},
                                     {{8, 8, 8, 0, 0, 0}, {1, 0}},           {{16, 16, 16, 0, 0, 0}, {1, 0}},
                                     {{17, 15, 33, 0, 0, 0}, {0.25f, 4}},    {{15, 24, 17, 24, 32, 40}, {1, 1}},
                                     {{64, 64, 16, 0, 0, 0}, {1, 0}},        {{63, 65, 15, 16, 72, 72}, {1, 1}},
                                     {{65, 63, 70, 72, 64, 64}, {3, 0.5f}},  {{128, 128, 64, 0, 0, 0}, {1, 0}},
                                     {{127, 129, 8, 0, 136, 136}, {1, 0}},   {{129, 136, 264, 0, 0, 0}, {1, 1}},
                                     {{130, 264, 40, 40, 264, 264}, {1, 1}}, {{64, 72, 321, 328, 0, 0}, {-0.5f, 0}},
                                     {{7, 5, 521, 528, 0, 0}, {1, 0}},       {{64, 64, 32, 33, 0, 0}, {1, 0}},
                                     {{64, 64, 32, 0, 68, 0}, {1, 0}},       {{64, 64, 32, 0, 0, 66}, {1, 1}},
                                     {{128, 128, 64, 68, 0, 0}, {1, 0}},     {{128, 128, 64, 0, 132, 0}, {1, 0}},
                                     {{128, 128, 36, 40, 0, 0}, {1, 0}},     {{19, 70, 40, 0, 0, 0}, {1, 0}},
                                     {{70, 20, 37, 0, 0, 0}, {2, 1}},        {{20, 18, 1601, 1602, 0, 0}, {1, 0.5f}},
                                     {{1, 300, 200, 0, 0, 0}, {1, 0}},       {{3, 1030, 70, 0, 1032, 0}, {1, 1}},
                                     {{2, 1027, 71, 0, 0, 0}, {2, 0}},       {{4, 33, 300, 0, 40, 0}, {1, 0.5f}},
                                     {{6, 300, 70, 0, 0, 0}, {1, 0}},        {{37, 301, 2, 0, 0, 0}, {1, 0}},
                                     {{21, 130, 3, 5, 132, 136}, {2, -1}},   {{300, 5, 4, 0, 0, 0}, {1, 0}},
                                     {{1100, 140, 9, 0, 0, 0}, {1, 0}},      {{2, 130, 1001, 0, 136, 0}, {1, 0.5f}},
                                     {{3, 131, 1001, 0, 0, 0}, {2, 0}},      {{37, 301, 5, 0, 0, 0}, {1, 0}},
                                     {{257, 130, 7, 8, 132, 130}, {1, 0}},   {{300, 5, 8, 9, 6, 7}, {0.5f, 2}},
                                     {{130, 67, 7, 0, 0, 0}, {1, 0}},        {{9, 1100, 2, 0, 0, 0}, {1, 0}},
                                     {{7, 1030, 4, 0, 0, 0}, {1, 1}},        {{6, 1100, 8, 0, 0, 0}, {1, 0}},
                                     {{19, 1, 1301, 0, 0, 3}, {2, 1}},       {{3, 1, 1301, 1304, 2, 0}, {1, 0}},
                                     {{10, 16, 1301, 0, 20, 0}, {1, 0.5f}},  {{16, 40, 1304, 0, 0, 0}, {1, 0}}};
  for (const ladder::Size& size : Gemm::few_columns_sizes()) sizes.push_back(size);
#ifndef CUDA_EMU                                         // the CPU backend has no step to which it matters
  sizes.push_back({{72, 200, 21688, 0, 0, 0}, {1, 0}});  // slices of k on wgmma
  sizes.push_back({{72, 200, 21688, 0, 204, 203}, {0.5f, 1}});
  sizes.push_back({{515, 520, 300, 0, 0, 0}, {2, 1}});
  sizes.push_back({{520, 513, 261, 0, 0, 0}, {1, 0}});
  // tiles of wgmma for clusters of 1, 2, 4 and 8 blocks, whose rows of C are aligned or not (a test sees to it)
  sizes.push_back({{392, 2392, 120, 0, 0, 0}, {1, 0}});
  sizes.push_back({{392, 2393, 120, 0, 2400, 0}, {1, 1}});
  sizes.push_back({{140, 2000, 520, 0, 0, 0}, {2, 0}});
  sizes.push_back({{140, 2001, 521, 0, 0, 0}, {1, 0}});
  sizes.push_back({{300, 1032, 600, 0, 0, 0}, {1, 1}});
  sizes.push_back({{300, 1031, 600, 0, 0, 1033}, {1, 0}});
  sizes.push_back({{140, 160, 600, 0, 0, 0}, {1, 0}});
  sizes.push_back({{300, 521, 1001, 0, 0, 0}, {0.5f, 1}});
  const std::size_t one_more_tile = 128 * static_cast<std::size_t>(sm_count()) + 1;
  sizes.push_back({{one_more_tile, 8, 330, 336, 0, 0}, {1, 0}});
  sizes.push_back({{one_more_tile, 8, 330, 336, 0, 0}, {0.5f, 1}});
#endif
  return sizes;
}
