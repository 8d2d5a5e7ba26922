// Problem:  each flag depends on the flags before it, so n decisions come one after another. But the n^2 / 2
//           comparisons of boxes don't depend on flags.
// Idea:     two kernels. One thread per pair writes a byte: does the better box suppress the other? Then one thread
//           visits the boxes in order; a kept box clears the flags of the boxes it suppresses.
// Expect:   slow: one thread reads up to n^2 / 2 bytes, a few at a time. The matrix takes 17 MB at 4096 boxes.
// Measured: 0.003 TFLOP/s at 4096 (H200).
// Next:     a comparison gives one bit. How many fit in the word that a thread writes?
#include "box.cuh"
#include "nms.cuh"

__global__ void nms_pairs(const float* __restrict__ boxes, std::int8_t* __restrict__ matrix, std::size_t n,
                          float threshold) {
  const std::size_t pair = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x, i = pair / n, j = pair % n;
  if (i >= n || j <= i) return;  // the upper triangle: i is the better box
  matrix[pair] = suppresses(load_box(boxes, i), load_box(boxes, j), threshold);
}

__global__ void nms_one_thread(const std::int8_t* __restrict__ matrix, std::int8_t* __restrict__ keep, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) keep[i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (keep[i] == 0) continue;  // a removed box suppresses nothing
    for (std::size_t j = i + 1; j < n; ++j) {
      if (matrix[i * n + j]) keep[j] = 0;
    }
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  constexpr int block = 256;
  std::int8_t* matrix = scratch<std::int8_t>(n * n);
  nms_pairs<<<static_cast<unsigned>(ceil_div(n * n, block)), block>>>(boxes, matrix, n, threshold);
  CUDA_CHECK(cudaGetLastError());
  nms_one_thread<<<1, 1>>>(matrix, keep, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch, 1);
