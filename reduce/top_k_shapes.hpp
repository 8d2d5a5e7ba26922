// Which rows step 08 of `top_k` gives to a thread each, and which to a block each. Apart from the step, so that a test can
// ask.
#pragma once
#include <algorithm>
#include <cstddef>

namespace top_k_shapes {

constexpr unsigned kThreads = 128;

// The length of a thread's list, or 0 where no thread has a row. A warp's work hardly grows with k, a thread's does, for
// every element. And threads need more rows than warps, for enough loads in flight: two blocks for each SM, and more
// where a row takes a thread long.
inline unsigned list_of_thread(std::size_t rows, std::size_t cols, std::size_t k, std::size_t sms) {
  unsigned length = 1;
  while (length < k) length *= 2;
  if (length > 16 || cols > 256 || cols * length > 512) return 0;
  return rows * 128 >= 2 * kThreads * sms * std::max(cols * length, std::size_t{128}) ? length : 0;
}

// Long rows, of which one element is wanted: with the rows for two loads of blocks there is no need of groups.
inline bool has_block(std::size_t rows, std::size_t cols, std::size_t k, std::size_t sms) {
  return k == 1 && cols > 2048 && cols <= 65536 && rows >= 16 * sms;
}

}  // namespace top_k_shapes
