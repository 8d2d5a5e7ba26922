// cooperative_groups::inclusive_scan and exclusive_scan over a tile or a coalesced group, and the operators, which
// reduce uses, too. The steps are those of CUDA's own headers, so float results agree bit for bit.
#pragma once

#include "../cooperative_groups.h"
#include "../cuda/atomic"

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

template <class Group, class T, class Operator>
inline T inclusive_scan(const Group& group, T value, Operator op, CUDA_EMU_HERE) {
  for (unsigned distance = 1; distance < group.size(); distance *= 2) {
    const T lower = group.shfl_up(value, distance, file, line);
    if (distance <= group.thread_rank()) value = op(value, lower);
  }
  return value;
}

template <class Group, class T>
inline T inclusive_scan(const Group& group, T value, CUDA_EMU_HERE) {
  return inclusive_scan(group, value, plus<T>(), file, line);
}

// The first thread gets T{} with every operator.
template <class Group, class T, class Operator>
inline T exclusive_scan(const Group& group, T value, Operator op, CUDA_EMU_HERE) {
  const T inclusive = inclusive_scan(group, value, op, file, line);
  const T lower = group.shfl_up(inclusive, 1, file, line);
  return group.thread_rank() == 0 ? T{} : lower;
}

template <class Group, class T>
inline T exclusive_scan(const Group& group, T value, CUDA_EMU_HERE) {
  return exclusive_scan(group, value, plus<T>(), file, line);
}

namespace details {

// Adds the group's sum to `destination`, a cuda::atomic or cuda::atomic_ref. Returns the old value to all threads.
template <class Group, class Atomic, class T>
inline T add_once(const Group& group, Atomic& destination, T inclusive, const char* file, int line) {
  const unsigned last = group.size() - 1;
  T before{};
  if (group.thread_rank() == last) before = destination.fetch_add(inclusive, cuda::memory_order_relaxed);
  return group.shfl(before, last, file, line);
}

}  // namespace details

// Adds the group's sum to `destination`, and returns the scan of `value` plus the old value of `destination`.
template <class Group, class Atomic, class T>
inline T inclusive_scan_update(const Group& group, Atomic& destination, T value, plus<T> op, CUDA_EMU_HERE) {
  const T inclusive = inclusive_scan(group, value, op, file, line);
  return details::add_once(group, destination, inclusive, file, line) + inclusive;
}
template <class Group, class Atomic, class T>
inline T exclusive_scan_update(const Group& group, Atomic& destination, T value, plus<T> op, CUDA_EMU_HERE) {
  const T inclusive = inclusive_scan(group, value, op, file, line);
  return details::add_once(group, destination, inclusive, file, line) + (inclusive - value);
}

}  // namespace cooperative_groups
