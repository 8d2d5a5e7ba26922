// Problem:  step 01 stores a byte for one bit, and one GPU thread is slower than one CPU thread.
// Idea:     one bit per pair. A thread compares its box with the 64 boxes of a tile, which the block has loaded into
//           shared memory, and stores one 64-bit word. The host copies the words and visits the boxes in order.
// Expect:   10 to 100x step 01 at 4096: an eighth of the bytes, and the host ORs 64 flags at a time. The copy of n^2 /
//           8 bytes to pageable memory takes most of the time.
// Measured: 43x step 01, 0.138 TFLOP/s at 4096 (H200).
// Next:     the copy serves n bits of result. What is needed to decide on the device?
#include "box.cuh"
#include "nms.cuh"

#include <vector>

using Mask = unsigned long long;
constexpr int kTile = 64;  // boxes per word

// Bit b of mask[i * words + c] is 1 if box i suppresses the later box 64 c + b.
__global__ void nms_bit_mask(const float* __restrict__ boxes, Mask* __restrict__ mask, std::size_t n, std::size_t words,
                             float threshold) {
  __shared__ Box tile[kTile];
  const unsigned column = blockIdx.x, row = blockIdx.y, t = threadIdx.x;
  const std::size_t i = std::size_t{row} * kTile + t, first = std::size_t{column} * kTile;
  if (first + t < n) tile[t] = load_box(boxes, first + t);
  __syncthreads();
  if (i >= n) return;
  Mask word = 0;
  if (column >= row) {  // below the diagonal, no box of the column is later
    const Box box = load_box(boxes, i);
    const int count = static_cast<int>(min(std::size_t{kTile}, n - first));
    for (int b = column == row ? t + 1 : 0; b < count; ++b) {
      if (suppresses(box, tile[b], threshold)) word |= Mask{1} << b;
    }
  }
  mask[i * words + column] = word;
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  const std::size_t words = ceil_div(n, kTile);
  Mask* mask = scratch<Mask>(n * words);
  const dim3 grid(static_cast<unsigned>(words), static_cast<unsigned>(words));
  nms_bit_mask<<<grid, kTile>>>(boxes, mask, n, words, threshold);
  CUDA_CHECK(cudaGetLastError());
  std::vector<Mask> host(n * words), removed(words, 0);
  CUDA_CHECK(cudaMemcpy(host.data(), mask, host.size() * sizeof(Mask), cudaMemcpyDeviceToHost));  // waits
  std::vector<std::int8_t> kept(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (removed[i / kTile] >> i % kTile & 1) continue;
    kept[i] = 1;
    for (std::size_t c = i / kTile; c < words; ++c) removed[c] |= host[i * words + c];
  }
  CUDA_CHECK(cudaMemcpy(keep, kept.data(), n, cudaMemcpyHostToDevice));
}

LADDER_STEP(Nms, launch, 1.0 / 8);
