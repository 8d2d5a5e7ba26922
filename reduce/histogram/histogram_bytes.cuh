// Bytes at any address, 16 at a time, for the steps of `histogram` from 04 on.
#pragma once
#include "cuda_helpers.cuh"

// x[0..n) as a head of up to 15 bytes, a body of whole uint4 on 16-byte boundaries, and a tail of up to 15 bytes.
struct SplitBytes {
  const uint4* body;
  std::size_t words;             // uint4 in the body
  std::size_t head, rest, skip;  // bytes of the head; of head and tail; in the body

  // The place in x of byte k of head and tail.
  __device__ std::size_t rest_at(std::size_t k) const { return k < head ? k : k + skip; }
};

__device__ inline SplitBytes split_bytes(const std::uint8_t* x, std::size_t n) {
  const std::size_t to_boundary = (0 - reinterpret_cast<std::uintptr_t>(x)) % 16;
  const std::size_t head = to_boundary < n ? to_boundary : n, words = (n - head) / 16;
  return {reinterpret_cast<const uint4*>(x + head), words, head, n - 16 * words, 16 * words};
}
