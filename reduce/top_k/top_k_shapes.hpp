// Which rows step 08 of `top_k` gives to a thread or to a block each. Apart from the step, so that a test can ask.
#pragma once
#include <algorithm>
#include <cstddef>

namespace top_k_shapes {

constexpr unsigned kThreads = 128;

// The length of a thread's list, or 0 where threads take no rows. With k a thread's work per element grows, a warp's
// hardly does: hence the limits. Threads also need many rows, to have enough loads in flight: two blocks for each SM,
// and more where a thread is busy with its row for long.
inline unsigned thread_list_length(std::size_t rows, std::size_t cols, std::size_t k, std::size_t sms) {
  unsigned length = 1;
  while (length < k) length *= 2;
  if (length > 16 || cols > 256 || cols * length > 512) return 0;
  return rows * 128 >= 2 * kThreads * sms * std::max(cols * length, std::size_t{128}) ? length : 0;
}

// The maximum of long rows: a block per row reads them once, where groups take a second kernel. 16 rows for each SM are
// two loads of blocks of 256 threads.
inline bool block_per_row(std::size_t rows, std::size_t cols, std::size_t k, std::size_t sms) {
  return k == 1 && cols > 2048 && cols <= 65536 && rows >= 16 * sms;
}

}  // namespace top_k_shapes
