// Problem:  data may be larger than the device's memory, and steps 01 to 10 stop there.
// Idea:     managed memory may be: on a fault the driver evicts pages to the host. The figures time passes over 2 GB with
//           room for all (resident_us) and for half of it: always from the front (oversubscribed_us), and to and fro.
// Expect:   0.9 to 1.1x step 04 at 2^26, where all fits. With room for half, 100x resident_us or more: what a pass needs
//           next was evicted last. To and fro a half of that, as each pass begins with what is still there.
// Measured: 0.11x step 10, 0.04 of the link at 2^26 (H200).
// Next:     how would you order the work so that it doesn't matter?
#include "memory.cuh"

__global__ void memory_pass(const float* from, float* to, float factor, std::size_t n, bool backwards) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t at = backwards ? n - 1 - i : i;
  if (i < n) to[at] = factor * from[at];
}

static void pass(const float* from, float* to, float factor, std::size_t n, bool backwards = false) {
  memory_pass<<<ceil_div(n, 256), 256>>>(from, to, factor, n, backwards);
  CUDA_CHECK(cudaGetLastError());
}

static void whole(const float* x, float* y, std::size_t n) {
  pass(x, y, 1.0f, n);
  pass(x, y, 2.0f, n);                  // the second pass over x and y
  CUDA_CHECK(cudaDeviceSynchronize());  // the kernel must be done
  touch_pages(y, n);
}

class Oversubscribed : public Transfer {
 public:
  Oversubscribed() : Transfer(ladder::Place::managed, nullptr, nullptr, whole) {}
  // Of data of its own: pages that go to and fro between host and device as often as x and y may stay on the host.
  std::vector<ladder::Figure> figures(const ladder::Arrays&, const ladder::Size& size) const override {
    constexpr std::size_t n = std::size_t{1} << 29, bytes = n * sizeof(float);
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (size[0] < 1 << 26 || free < 2 * bytes) return {};
    float *data = nullptr, *taken = nullptr;
    CUDA_CHECK(cudaMallocManaged(&data, bytes));
    const auto passes_us = [&](bool to_and_fro) {
      bool backwards = true;
      return median_us([] {}, [&] { pass(data, data, 1.0f, n, backwards = to_and_fro && !backwards); });
    };
    std::vector<ladder::Figure> all = {{"resident_us", passes_us(false)}};
    touch_pages(data, n);  // back to the host: all of the device's memory is free
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (cudaMalloc(&taken, free - bytes / 2) == cudaSuccess) {
      all.push_back({"oversubscribed_us", passes_us(false)});
      all.push_back({"to_and_fro_us", passes_us(true)});
    }
    cudaFree(taken);
    cudaFree(data);
    cudaGetLastError();
    return all;
  }
};

// x and y are managed: cudaMallocManaged(&x, n * sizeof(float)), cudaFree(x).
LADDER_STEP(Oversubscribed);
