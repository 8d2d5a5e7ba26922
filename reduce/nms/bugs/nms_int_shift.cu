// bug: 1 << b is an int, but b goes up to 63, so the upper half of a word is wrong
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | shift
// caught by: gpu | is wrong
// stage: right
#include "../box.cuh"
#include "../nms.cuh"

using Mask = unsigned long long;
constexpr int kTile = 64;  // boxes per word

__global__ void nms_int_shift(const float* __restrict__ boxes, Mask* __restrict__ mask, std::size_t n,
                              std::size_t words, float threshold) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x, first = std::size_t{blockIdx.y} * kTile;
  if (i >= n) return;
  const Box box = load_box(boxes, i);
  Mask word = 0;
  for (int b = 0; b < kTile && first + b < n; ++b) {
    if (first + b > i && suppresses(box, load_box(boxes, first + b), threshold)) word |= 1 << b;
  }
  mask[i * words + blockIdx.y] = word;
}

__global__ void nms_scan_of_mask(const Mask* __restrict__ mask, std::int8_t* __restrict__ keep, std::size_t n,
                                 std::size_t words) {
  for (std::size_t i = 0; i < n; ++i) {
    bool kept = true;
    for (std::size_t j = 0; j < i && kept; ++j) {
      kept = keep[j] == 0 || (mask[j * words + i / kTile] >> i % kTile & 1) == 0;
    }
    keep[i] = kept;
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  const std::size_t words = ceil_div(n, kTile);
  Mask* mask = scratch<Mask>(n * words);
  const dim3 grid(static_cast<unsigned>(words), static_cast<unsigned>(words));
  nms_int_shift<<<grid, kTile>>>(boxes, mask, n, words, threshold);
  CUDA_CHECK(cudaGetLastError());
  nms_scan_of_mask<<<1, 1>>>(mask, keep, n, words);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch, 1.0 / 8);
