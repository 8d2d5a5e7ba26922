// The k greatest of each row, for any shape: many rows or one, short or long. The candidates are the steps' own
// kernels, and step 06 with smaller groups or with more threads per row.
#include "../top_k_01_repeated_max.cu"
#include "../top_k_04_radix_select.cu"
#include "../top_k_08_thread_per_row.cu"  // and 07 and 06, which it includes
#include "any_shape.cuh"

struct RowCall {
  const float* x;
  float* values;
  int* indices;
  std::size_t rows, cols, k;
  Shape shape() const { return {rows, cols, k, alignment(x)}; }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(values, rows * k, false);
    visit(indices, rows * k, false);
  }
};

using Rows = void (*)(const float*, float*, int*, std::size_t, std::size_t, std::size_t);
template <Rows launch_rows>
static void launch_call(const RowCall& c) {
  launch_rows(c.x, c.values, c.indices, c.rows, c.cols, c.k);
}

static bool is_short(const RowCall& c) { return c.cols <= 2048; }
static bool is_short_with_short_list(const RowCall& c) { return c.cols <= 256 && c.k <= 16; }
static bool is_maximum(const RowCall& c) { return c.k == 1; }

static const Candidate<RowCall> kCandidates[] = {
    {"groups", any, launch_call<launch_groups>},
    {"groups_of_128", any, launch_call<launch_groups_of<1, 32>>},
    {"groups_of_256_for_8_warps", any, launch_call<launch_groups_of<2, 256>>},
    {"groups_of_512_for_8_warps", any, launch_call<launch_groups_of<4, 256>>},
    {"rows_in_registers", is_short, launch_call<launch_rows_in_registers>},
    {"thread_per_row", is_short_with_short_list, launch_call<launch_thread_per_row>},
    {"radix_select", any, launch_call<launch_radix_select>},
    {"block_per_row", is_maximum, launch_call<launch_repeated_max>},
};

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;
  launch_fastest(kCandidates, RowCall{x, values, indices, rows, cols, k});
}

LADDER_STEP(TopK, launch);
