// The blur on the CPU, from a slow loop to vector code on all cores, so that the GPU is compared with a fast CPU:
//
//   blur_cpu                 checks every variant, then times it on 4096 x 8192
//   blur_cpu ROWS COLS       the same at another size
//   blur_cpu --check         only checks, on awkward sizes
//
// Every variant is checked against the same reference as the GPU's steps, in double. One more, a tiled loop that clamps
// at the edge of its tile instead of reading a halo, is wrong and must fail that check. Exit status: 0 if so.
#include "blur.cuh"
#include "runner/definitions.hpp"
#include "runner/host_variants.hpp"

#include <cstdlib>

namespace {

using Image = const float* __restrict__;

// Columns in the outer loop, rows in the inner one: each iteration accesses another cache line.
void columns_outside(Image in, float* __restrict__ out, long rows, long cols) {
  for (long c = 0; c < cols; ++c) {
    for (long r = 0; r < rows; ++r) {
      float sum = 0;
      for (long i = 0; i < kWindow; ++i) {
        for (long j = 0; j < kWindow; ++j) sum += in[std::min(r + i, rows - 1) * cols + std::min(c + j, cols - 1)];
      }
      out[r * cols + c] = sum * kNinth;
    }
  }
}

// Interchanged loops: the inner one runs along a row.
void rows_outside(Image in, float* __restrict__ out, long rows, long cols) {
  for (long r = 0; r < rows; ++r) {
    for (long c = 0; c < cols; ++c) {
      float sum = 0;
      for (long i = 0; i < kWindow; ++i) {
        for (long j = 0; j < kWindow; ++j) sum += in[std::min(r + i, rows - 1) * cols + std::min(c + j, cols - 1)];
      }
      out[r * cols + c] = sum * kNinth;
    }
  }
}

// Computes sums of 3 along a row for the columns [begin, end), with indices clamped to `last`. Only the last columns
// need that; the compiler vectorizes the loop over the others, 8 or 16 at a time.
void sums_along(Image row, float* __restrict__ sums, long begin, long end, long last) {
  const long inner = std::max(begin, std::min(end, last - 1));
#pragma omp simd
  for (long x = begin; x < inner; ++x) sums[x - begin] = row[x] + row[x + 1] + row[x + 2];
  for (long x = inner; x < end; ++x) sums[x - begin] = row[x] + row[std::min(x + 1, last)] + row[std::min(x + 2, last)];
}

// Sums along the rows into a second image, then down the columns.
void separable(Image in, float* __restrict__ out, long rows, long cols) {
  static std::vector<float> sums;
  sums.resize(rows * cols);
  for (long r = 0; r < rows; ++r) sums_along(in + r * cols, sums.data() + r * cols, 0, cols, cols - 1);
  for (long r = 0; r < rows; ++r) {
    const float *a = sums.data() + r * cols, *b = sums.data() + std::min(r + 1, rows - 1) * cols;
    const float* c = sums.data() + std::min(r + 2, rows - 1) * cols;
    for (long x = 0; x < cols; ++x) out[r * cols + x] = (a[x] + b[x] + c[x]) * kNinth;
  }
}

// Computes one row of the result. The first loop doesn't clamp and its accesses are contiguous, so the compiler
// vectorizes it, 8 or 16 pixels at a time. The second loop computes the last two columns.
void blur_row(Image a, Image b, Image c, float* __restrict__ out, long cols) {
#pragma omp simd
  for (long x = 0; x < cols - 2; ++x) {
    const float sum = a[x] + a[x + 1] + a[x + 2] + b[x] + b[x + 1] + b[x + 2] + c[x] + c[x + 1] + c[x + 2];
    out[x] = sum * kNinth;
  }
  for (long x = std::max(cols - 2, 0L); x < cols; ++x) {
    float sum = 0;
    for (long j = 0; j < kWindow; ++j) {
      const long at = std::min(x + j, cols - 1);
      sum += a[at] + b[at] + c[at];
    }
    out[x] = sum * kNinth;
  }
}

void simd(Image in, float* __restrict__ out, long rows, long cols) {
  for (long r = 0; r < rows; ++r) {
    const long last = rows - 1;
    blur_row(in + r * cols, in + std::min(r + 1, last) * cols, in + std::min(r + 2, last) * cols, out + r * cols, cols);
  }
}

// The interchanged loops on all cores, each with its own rows.
void openmp(Image in, float* __restrict__ out, long rows, long cols) {
#pragma omp parallel for
  for (long r = 0; r < rows; ++r) {
    for (long c = 0; c < cols; ++c) {
      float sum = 0;
      for (long i = 0; i < kWindow; ++i) {
        for (long j = 0; j < kWindow; ++j) sum += in[std::min(r + i, rows - 1) * cols + std::min(c + j, cols - 1)];
      }
      out[r * cols + c] = sum * kNinth;
    }
  }
}

void openmp_simd(Image in, float* __restrict__ out, long rows, long cols) {
#pragma omp parallel for
  for (long r = 0; r < rows; ++r) {
    const long last = rows - 1;
    blur_row(in + r * cols, in + std::min(r + 1, last) * cols, in + std::min(r + 2, last) * cols, out + r * cols, cols);
  }
}

// Tiles on all cores; their row sums stay in the cache. With a halo, a tile of kTile output rows needs row sums of
// kTile + 2 rows.
constexpr long kTile = 32, kTileCols = 512;

template <bool kHalo>
void tiled(Image in, float* __restrict__ out, long rows, long cols) {
#pragma omp parallel for collapse(2)
  for (long row0 = 0; row0 < rows; row0 += kTile) {
    for (long col0 = 0; col0 < cols; col0 += kTileCols) {
      const long height = std::min(kTile, rows - row0), width = std::min(kTileCols, cols - col0);
      // the last row and column that the tile may read
      const long last_row = kHalo ? rows - 1 : row0 + height - 1, last_col = kHalo ? cols - 1 : col0 + width - 1;
      float sums[kTile + kWindow - 1][kTileCols];
      for (long r = 0; r < height + kWindow - 1; ++r) {
        sums_along(in + std::min(row0 + r, last_row) * cols, sums[r], col0, col0 + width, last_col);
      }
      for (long r = 0; r < height; ++r) {
        float* to = out + (row0 + r) * cols + col0;
        for (long c = 0; c < width; ++c) to[c] = (sums[r][c] + sums[r + 1][c] + sums[r + 2][c]) * kNinth;
      }
    }
  }
}

// The minimum of any blur: reads and writes the image once.
void copy(Image in, float* __restrict__ out, long rows, long cols) {
#pragma omp parallel for
  for (long r = 0; r < rows; ++r) std::copy(in + r * cols, in + (r + 1) * cols, out + r * cols);
}

struct Variant {
  const char* name;
  void (*run)(Image, float* __restrict__, long, long);
};
constexpr Variant kVariants[] = {{"columns outside", columns_outside},
                                 {"rows outside", rows_outside},
                                 {"separable", separable},
                                 {"simd", simd},
                                 {"openmp", openmp},
                                 {"openmp + simd", openmp_simd},
                                 {"openmp, tiled", tiled<true>}};
constexpr Variant kWrong = {"openmp, tiled without halo", tiled<false>};
constexpr Variant kCopy = {"(a copy, openmp)", copy};

// Returns what is wrong with a variant's result, or an empty string.
std::string problem_of(const Variant& variant, const ladder::Case& c) {
  return ladder::problem_of(c, 1, [&](float* out) {
    variant.run(reinterpret_cast<const float*>(c.host(0)), out, static_cast<long>(c.size()[0]),
                static_cast<long>(c.size()[1]));
  });
}

// Prints what fails. Returns true if all variants are right and kWrong fails where it must.
bool check(const ladder::Size& size) {
  const Blur problem(nullptr);
  bool ok = true;
  for (const ladder::Pattern& pattern : ladder::patterns_for(problem, size)) {
    const ladder::Case c(problem, size, pattern, 1);
    for (const Variant& variant : kVariants) {
      const std::string text = problem_of(variant, c);
      if (text.empty()) continue;
      std::printf("%s: FAIL, %zu x %zu, %s data: %s\n", variant.name, size[0], size[1], pattern.name, text.c_str());
      ok = false;
    }
    // Without a halo only an image of one tile is right.
    const bool several_tiles = size[0] > kTile || size[1] > kTileCols;
    if (std::string(pattern.name) == "random" && problem_of(kWrong, c).empty() == several_tiles) {
      std::printf("%s: %s at %zu x %zu\n", kWrong.name, several_tiles ? "NOT CAUGHT" : "FAIL", size[0], size[1]);
      ok = false;
    }
  }
  return ok;
}

void time_all(const ladder::Size& size) {
  const std::vector<float> in = ladder::random_floats(size[0] * size[1]);
  std::vector<float> out(in.size());
  std::printf("%zu x %zu, %s\n", size[0], size[1], ladder::threads_in_words().c_str());
  const auto rows = static_cast<long>(size[0]), cols = static_cast<long>(size[1]);
  const auto print = [&](const Variant& variant) {
    const double ms = ladder::best_ms([&] { variant.run(in.data(), out.data(), rows, cols); });
    std::printf("%-28s %9.1f ms %8.2f GB/s\n", variant.name, ms, 8e-6 * static_cast<double>(in.size()) / ms);
  };
  for (const Variant& variant : kVariants) print(variant);
  print(kCopy);
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_check = argc == 2 && std::string(argv[1]) == "--check";
  ladder::Size size{4096, 8192};
  if (argc == 3) size = {std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10)};
  if ((argc != 1 && argc != 3 && !only_check) || size[0] < 1 || size[1] < 1 || size[0] > 65536 || size[1] > 65536) {
    std::fprintf(stderr, "usage: %s [--check | ROWS COLS], both 1 to 65536\n", argv[0]);
    return 2;
  }
  bool ok = true;
  if (only_check) {
    for (const ladder::Size& each : Blur(nullptr).test_sizes()) ok &= check(each);
  } else {
    ok = check(size);
  }
  std::printf("%s\n", ok ? "all variants are right, and the tiled one without halo was caught" : "FAIL");
  if (!ok) return 1;
  if (!only_check) time_all(size);
  return 0;
}
