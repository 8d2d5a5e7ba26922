// C = A B on the CPU, a ladder of its own, so that the GPU is compared with good CPU code instead of three loops:
//
//   sgemm_cpu                checks every variant, then times it at m = n = k = 1024
//   sgemm_cpu N              the same at another size; beyond 1024 without the three slowest
//   sgemm_cpu --check        only checks, on awkward sizes
//
// Every variant is checked against the reference of the GPU's steps, in double. An installed BLAS is one of them. The
// last variant copies only whole panels and omits the columns after them, so it must fail. Exit status: 0 if so.
#include "sgemm.cuh"
#include "runner/definitions.hpp"
#include "runner/host_variants.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace {

using Matrix = const float* __restrict__;

// One variant is compiled without SIMD, to show what SIMD is worth.
#if defined(__GNUC__) && !defined(__clang__)
#define SCALAR __attribute__((optimize("no-tree-vectorize")))
#else
#define SCALAR
#endif

// j outside, i inside: consecutive accesses of the innermost loop to A and C are a row apart.
void column_order(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  std::fill(C, C + m * n, 0.0f);
  for (long j = 0; j < n; ++j) {
    for (long l = 0; l < k; ++l) {
      for (long i = 0; i < m; ++i) C[i * n + j] += A[i * k + l] * B[l * n + j];
    }
  }
}

// The loops as the formula reads: a dot product for each element. A is read along its rows, B down its columns.
void dot_order(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  for (long i = 0; i < m; ++i) {
    for (long j = 0; j < n; ++j) {
      float sum = 0;
      for (long l = 0; l < k; ++l) sum += A[i * k + l] * B[l * n + j];
      C[i * n + j] = sum;
    }
  }
}

// The two inner loops interchanged: rows of B are added to a row of C, and consecutive accesses are adjacent.
SCALAR void row_order_scalar(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  std::fill(C, C + m * n, 0.0f);
  for (long i = 0; i < m; ++i) {
    for (long l = 0; l < k; ++l) {
      for (long j = 0; j < n; ++j) C[i * n + j] += A[i * k + l] * B[l * n + j];
    }
  }
}

// The same, but the compiler computes 4, 8 or 16 columns at a time.
void row_order(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  std::fill(C, C + m * n, 0.0f);
  for (long i = 0; i < m; ++i) {
    for (long l = 0; l < k; ++l) {
      for (long j = 0; j < n; ++j) C[i * n + j] += A[i * k + l] * B[l * n + j];
    }
  }
}

// Blocks of B of 128 x 512 floats, 256 KB, stay in L2 while all rows of A are processed.
constexpr long kDepth = 128, kColumns = 512;

void blocked(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  std::fill(C, C + m * n, 0.0f);
  for (long j0 = 0; j0 < n; j0 += kColumns) {
    const long j1 = std::min(j0 + kColumns, n);
    for (long l0 = 0; l0 < k; l0 += kDepth) {
      const long l1 = std::min(l0 + kDepth, k);
      for (long i = 0; i < m; ++i) {
        for (long l = l0; l < l1; ++l) {
          for (long j = j0; j < j1; ++j) C[i * n + j] += A[i * k + l] * B[l * n + j];
        }
      }
    }
  }
}

// A vector register, and the tile of C that registers hold: with AVX-512 12 x 2 of 32 registers, else 6 x 2 of 16.
#ifdef __AVX512F__
constexpr long kLanes = 16, kTileRows = 12;
#elif defined(__AVX__)
constexpr long kLanes = 8, kTileRows = 6;
#else
constexpr long kLanes = 4, kTileRows = 6;
#endif
using Vector = float __attribute__((vector_size(4 * kLanes)));
constexpr long kTileColumns = 2 * kLanes;
constexpr long kPackedDepth = 256;  // a panel of B, 8 to 32 columns, then has 8 to 32 KB, which fits in L1

// Adds to C's tile at C the product of a packed panel of A, `depth` times kTileRows floats, and one of B, `depth` times
// kTileColumns. rows x columns of the tile are inside C.
void add_tile(long depth, const float* a, const float* b, float* C, long n, long rows, long columns) {
  Vector sum[kTileRows][2] = {};
  for (long l = 0; l < depth; ++l) {
    Vector left, right;
    std::memcpy(&left, b + l * kTileColumns, sizeof left);
    std::memcpy(&right, b + l * kTileColumns + kLanes, sizeof right);
#pragma GCC unroll 12
    for (long i = 0; i < kTileRows; ++i) {
      sum[i][0] += a[l * kTileRows + i] * left;
      sum[i][1] += a[l * kTileRows + i] * right;
    }
  }
  float tile[kTileRows][kTileColumns];
  std::memcpy(tile, sum, sizeof tile);
  for (long i = 0; i < rows; ++i) {
    for (long j = 0; j < columns; ++j) C[i * n + j] += tile[i][j];
  }
}

// Packed: the panels of B and of A are copied into the order in which the tiles read them, with zeros past the edges.
// Everything else is in registers. Threads share the panels of B, and each has its own tile rows.
template <bool kThreads, bool kWholePanelsOnly = false>
void packed(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  std::fill(C, C + m * n, 0.0f);
  const long panels = kWholePanelsOnly ? n / kTileColumns : ceil_div(n, kTileColumns);
  std::vector<float> packed_b(panels * kTileColumns * kPackedDepth);
#pragma omp parallel if (kThreads)
  {
    std::vector<float> packed_a(kTileRows * kPackedDepth);
    for (long l0 = 0; l0 < k; l0 += kPackedDepth) {
      const long depth = std::min(kPackedDepth, k - l0);
#pragma omp for
      for (long p = 0; p < panels; ++p) {
        const long j0 = p * kTileColumns, columns = std::min(kTileColumns, n - j0);
        float* to = packed_b.data() + p * kTileColumns * kPackedDepth;
        for (long l = 0; l < depth; ++l, to += kTileColumns) {
          std::copy_n(B + (l0 + l) * n + j0, columns, to);
          std::fill(to + columns, to + kTileColumns, 0.0f);
        }
      }
#pragma omp for schedule(dynamic)
      for (long i0 = 0; i0 < m; i0 += kTileRows) {
        const long rows = std::min(kTileRows, m - i0);
        for (long l = 0; l < depth; ++l) {
          for (long i = 0; i < kTileRows; ++i) {
            packed_a[l * kTileRows + i] = i < rows ? A[(i0 + i) * k + l0 + l] : 0.0f;
          }
        }
        for (long p = 0; p < panels; ++p) {
          const long j0 = p * kTileColumns;
          add_tile(depth, packed_a.data(), packed_b.data() + p * kTileColumns * kPackedDepth, C + i0 * n + j0, n, rows,
                   std::min(kTileColumns, n - j0));
        }
      }
    }
  }
}

// sgemm of the installed BLAS, if any: OpenBLAS, MKL, or the one that libblas.so.3 links to.
struct Blas {
  const char* name = nullptr;
  void (*sgemm)(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
                const float* A, const int* lda, const float* B, const int* ldb, const float* beta, float* C,
                const int* ldc) = nullptr;
};
const Blas& blas() {
  static const Blas found = [] {
    for (const char* name : {"libopenblas.so.0", "libmkl_rt.so.2", "libblas.so.3"}) {
      void* const library = dlopen(name, RTLD_LAZY);
      void* const sgemm = library ? dlsym(library, "sgemm_") : nullptr;
      if (sgemm) return Blas{name, reinterpret_cast<decltype(Blas::sgemm)>(sgemm)};
    }
    return Blas();
  }();
  return found;
}

// BLAS is column-major, as cuBLAS is. Read that way, our matrices are transposed: C^T = B^T A^T.
void of_blas(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C) {
  if (m == 0 || n == 0) return;
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), depth = static_cast<int>(k);
  const int lda = std::max(depth, 1);
  const float alpha = 1, beta = 0;
  blas().sgemm("N", "N", &columns, &rows, &depth, &alpha, B, &columns, A, &lda, &beta, C, &columns);
}

struct Variant {
  const char* name;
  void (*run)(long m, long n, long k, Matrix A, Matrix B, float* __restrict__ C);
  bool slow = false;
};
std::vector<Variant> variants() {
  std::vector<Variant> all = {{"jli, columns of A and C", column_order, true},
                              {"ijl, dot products", dot_order, true},
                              {"ilj, rows of B and C, scalar", row_order_scalar, true},
                              {"ilj, SIMD by the compiler", row_order},
                              {"blocked for L2", blocked},
                              {"packed, tile in registers", packed<false>},
                              {"packed, OpenMP", packed<true>}};
  if (blas().sgemm) all.push_back({blas().name, of_blas});
  return all;
}
constexpr Variant kWrong = {"packed, whole panels only", packed<false, true>};

std::string problem_of(const Variant& variant, const ladder::Case& c) {
  const auto dim = [&](std::size_t d) { return static_cast<long>(c.size()[d]); };
  const auto host = [&](std::size_t buffer) { return reinterpret_cast<const float*>(c.host(buffer)); };
  return ladder::problem_of(c, 2, [&](float* C) { variant.run(dim(0), dim(1), dim(2), host(0), host(1), C); });
}

// Prints failures; returns true if all variants are right and the wrong one failed.
bool check(const ladder::Size& size) {
  const Sgemm problem(nullptr);
  bool ok = true;
  for (const ladder::Pattern& pattern : ladder::patterns_for(problem, size)) {
    const ladder::Case c(problem, size, pattern, 1);
    for (const Variant& variant : variants()) {
      const std::string text = problem_of(variant, c);
      if (text.empty()) continue;
      std::printf("%s: FAIL, %zu x %zu x %zu, %s data: %s\n", variant.name, size[0], size[1], size[2], pattern.name,
                  text.c_str());
      ok = false;
    }
    const bool remainder = size[0] > 0 && size[2] > 0 && size[1] % kTileColumns > 0;
    if (std::string(pattern.name) == "random" && problem_of(kWrong, c).empty() == remainder) {
      std::printf("%s: %s at n = %zu\n", kWrong.name, remainder ? "NOT CAUGHT" : "FAIL", size[1]);
      ok = false;
    }
  }
  return ok;
}

ladder::Size product(std::size_t m, std::size_t n, std::size_t k) { return {{m, n, k, 0, 0, 0}, {1, 0}}; }

// Checks the kernels' sizes that have no gaps between rows and no factors, and some around blocks and panels.
bool check_all() {
  bool ok = check(product(130, 513, 129)) & check(product(25, 65, 257)) & check(product(12, 32, 256)) &
            check(product(13, 31, 512));
  for (const ladder::Size& size : Sgemm(nullptr).test_sizes()) {
    if (size == product(size[0], size[1], size[2])) ok &= check(size);
  }
  return ok;
}

void time_all(std::size_t size) {
  const auto n = static_cast<long>(size);
  const std::vector<float> A = ladder::random_floats(size * size, 0), B = ladder::random_floats(size * size, 1);
  std::vector<float> C(size * size);
  std::printf("%zu x %zu x %zu, %s, vectors of %ld floats\n", size, size, size, ladder::threads_in_words().c_str(),
              kLanes);
  for (const Variant& variant : variants()) {
    if (variant.slow && size > 1024) continue;
    const double ms = ladder::best_ms([&] { variant.run(n, n, n, A.data(), B.data(), C.data()); });
    std::printf("%-30s %9.1f ms %9.2f GFLOP/s\n", variant.name, ms, 2e-6 * static_cast<double>(n * n * n) / ms);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_check = argc == 2 && std::string(argv[1]) == "--check";
  const std::size_t size = argc == 2 && !only_check ? std::strtoul(argv[1], nullptr, 10) : 1024;
  if (argc > 2 || size < 1 || size > 16384) {
    std::fprintf(stderr, "usage: %s [--check | N], 1 to 16384\n", argv[0]);
    return 2;
  }
  const bool ok = only_check ? check_all() : check(product(130, 513, 129));
  std::printf("%s\n", ok ? "all variants are right, and the one without the last columns was caught" : "FAIL");
  if (!ok) return 1;
  if (!only_check) time_all(size);
  return 0;
}
