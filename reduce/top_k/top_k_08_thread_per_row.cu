// Problem:  a layer that chooses 2 of 64 experts per token has a million rows of 64. Step 07 gives each a warp.
// Idea:     one thread per row with its list in registers, as in step 02, but no lists to merge. A block stages 32
//           columns of 128 rows in shared memory, because neighbouring threads would load addresses a row apart.
// Expect:   2 to 3x step 07, 0.6 to 0.8 of a read at 2^20x64x2: 35 instructions per element of each lane; the loads
//           leave time for 27.
// Measured: 2.72x step 07, 0.57 of a read at 2^20x64x2 (H200).
// Why: the SASS has 38 instructions, 15 of them for the list, which limits it to 0.7.
// Next:     which rows are too long for this? (A warp runs the list's code if one of its 32 rows needs it.)
#include "top_k_07_rows_in_registers.cu"

#include <cuda_pipeline.h>

constexpr unsigned kThreads = 128, kWidth = 32;

// Returns the index of element i of the block's rows in shared memory: one float of padding follows every 32.
__device__ inline unsigned padded(unsigned i) { return i + i / 32; }

template <int kMost>
__global__ void __launch_bounds__(kThreads)
    top_k_thread_per_row(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                         std::size_t rows, unsigned cols, unsigned k) {
  constexpr unsigned kHalf = kThreads * (kWidth + 1) / 2;
  static_assert(2 * kMost <= kWidth, "values and indices have half of the shared memory each");
  __shared__ float staged[2 * kHalf];
  const std::size_t first_row = std::size_t{blockIdx.x} * kThreads;
  const auto here = static_cast<unsigned>(min(std::size_t{kThreads}, rows - first_row));
  x += first_row * cols;
  values += first_row * k;
  indices += first_row * k;

  Pair list[kMost] = {};
  int least = no_element().key;  // the key of the list's last entry
  const auto copy = [&](unsigned to, unsigned from) {
    __pipeline_memcpy_async(&staged[padded(to)], &x[from], sizeof(float));
  };
  const unsigned lane = threadIdx.x % 32, width = min(cols, kWidth);
  for (unsigned begin = 0; begin < cols; begin += width) {
    __syncthreads();      // all threads are done with the last columns
    if (width == cols) {  // the rows have no gaps between them
      for (unsigned i = threadIdx.x; i < here * cols; i += kThreads) copy(i, i);
    } else if (begin + lane < cols) {
      for (unsigned row = threadIdx.x / 32; row < here; row += kThreads / 32) {
        copy(row * kWidth + lane, row * cols + begin + lane);
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    const unsigned end = threadIdx.x < here ? min(cols, begin + width) : begin;
    for (unsigned column = begin; column < end; ++column) {
      const int key = argmax_key(staged[padded(threadIdx.x * width + column - begin)]);
      if (key <= least) continue;  // of equal keys, the earlier column stays
      Pair pair = pair_of_key(key, column);
#pragma unroll
      for (int i = 0; i < kMost; ++i) {  // each slot keeps the greater pair and passes the smaller one on
        const Pair greater = max(list[i], pair);
        pair = min(list[i], pair);
        list[i] = greater;
      }
      least = key_of(list[kMost - 1]);
    }
  }

  __syncthreads();
  if (threadIdx.x < here) {
#pragma unroll
    for (unsigned i = 0; i < kMost; ++i) {
      if (i >= k) break;
      const unsigned column = column_of(list[i]), place = padded(threadIdx.x * k + i);
      const float value = value_of(list[i]);
      const bool unique = value != 0 && value == value;  // else read x: a key does not distinguish zeros, or NaNs
      staged[place] = unique ? value : x[threadIdx.x * cols + column];
      staged[kHalf + place] = __int_as_float(static_cast<int>(column));
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < here * k; i += kThreads) {  // coalesced
    values[i] = staged[padded(i)];
    indices[i] = __float_as_int(staged[kHalf + padded(i)]);
  }
}

static void launch_thread_per_row(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                                  std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  if (cols > 256 || k > 16) return launch_rows_in_registers(x, values, indices, rows, cols, k);
  const auto kernel = k <= 1   ? top_k_thread_per_row<1>
                      : k <= 2 ? top_k_thread_per_row<2>
                      : k <= 4 ? top_k_thread_per_row<4>
                      : k <= 8 ? top_k_thread_per_row<8>
                               : top_k_thread_per_row<16>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, std::size_t{kThreads}));
  kernel<<<grid, kThreads>>>(x, values, indices, rows, static_cast<unsigned>(cols), static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch_thread_per_row);
