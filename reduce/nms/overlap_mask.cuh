// The mask of which box suppresses which, introduced by step 02, for steps 03 and 04.
#pragma once
#include "box.cuh"

using Mask = unsigned long long;
constexpr int kTile = 64;  // boxes per word

// Bit b of mask[i * words + c] is 1 if box i suppresses the later box 64 c + b. Words with c < i / 64 would be 0 and
// are not written.
static __global__ void fill_mask(const float* __restrict__ boxes, Mask* __restrict__ mask, std::size_t n,
                                 std::size_t words, float threshold) {
  __shared__ Box tile[kTile];
  const unsigned column = blockIdx.x, row = blockIdx.y, t = threadIdx.x;
  if (column < row) return;  // the whole block
  const std::size_t i = std::size_t{row} * kTile + t, first = std::size_t{column} * kTile;
  if (first + t < n) tile[t] = load_box(boxes, first + t);
  __syncthreads();
  if (i >= n) return;
  const Box box = load_box(boxes, i);
  const int count = static_cast<int>(min(std::size_t{kTile}, n - first));
  Mask word = 0;
  for (int b = column == row ? t + 1 : 0; b < count; ++b) {
    if (suppresses(box, tile[b], threshold)) word |= Mask{1} << b;
  }
  mask[i * words + column] = word;
}

// Returns device memory with the mask of n > 0 boxes, `words` words per box.
inline Mask* overlap_mask(const float* boxes, std::size_t n, std::size_t words, float threshold) {
  Mask* mask = scratch<Mask>(n * words);
  const dim3 grid(static_cast<unsigned>(words), static_cast<unsigned>(words));
  fill_mask<<<grid, kTile>>>(boxes, mask, n, words, threshold);
  CUDA_CHECK(cudaGetLastError());
  return mask;
}
