// bug: the last unit of 64 threads is skipped unless it is full: the test looks at the unit's end, not the element
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../divergence.cuh"

constexpr int kUnit = 64;

__global__ void divergence_full_units(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t place = thread % kUnit, odd = place / (kUnit / 2);
  const std::size_t i = thread - place + 2 * (place % (kUnit / 2)) + odd;
  if (thread - place + kUnit > n) return;  // i >= n
  const auto v = static_cast<unsigned>(x[i]);
  y[i] = static_cast<int>(odd == 0 ? even_kind(v) : odd_kind(v));
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  divergence_full_units<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Divergence, launch);
