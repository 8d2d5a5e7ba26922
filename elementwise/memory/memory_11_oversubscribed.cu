// Problem:  data may be larger than the device's memory, and steps 01 to 10 stop there.
// Idea:     managed memory may be: on a fault the driver evicts pages to the host. The figures time the second of two
//           passes, resident_us with room for all and oversubscribed_us with room for 3/4 of x and y.
// Expect:   0.9 to 1.1x step 04 at 2^26, where all fits. Oversubscribed, a second pass as slow as the first: what it
//           needs next is what was evicted last. No run has shown that yet: both figures were equal.
// Measured: 0.32x step 10, 0.12 of the link at 2^26 (H200).
// Next:     in which order should the second pass go over the data?
#include "memory.cuh"

__global__ void memory_pass(const float* __restrict__ from, float* __restrict__ to, float factor, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = factor * from[i];
}

static void pass(const float* from, float* to, float factor, std::size_t n) {
  memory_pass<<<ceil_div(n, 256), 256>>>(from, to, factor, n);
  CUDA_CHECK(cudaGetLastError());
}

static void copy_in(const float* x, float* z, std::size_t n) { pass(x, z, 1.0f, n); }

static void read_on_host(const float* y, std::size_t n) {
  CUDA_CHECK(cudaDeviceSynchronize());  // the kernel must be done
  touch_pages(y, n);
}

static void copy_out(const float* z, float* y, std::size_t n) {
  pass(z, y, 1.0f, n);
  read_on_host(y, n);
}

static void whole(const float* x, float* y, std::size_t n) {
  pass(x, y, 1.0f, n);
  pass(x, y, 2.0f, n);  // the second pass over x and y
  read_on_host(y, n);
}

class Oversubscribed : public Transfer {
 public:
  Oversubscribed() : Transfer(ladder::Place::managed, copy_in, copy_out, whole) {}
  std::vector<ladder::Figure> figures(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<ladder::Figure> all = Transfer::figures(host, size);
    const std::size_t n = size[0], data = 2 * n * sizeof(float);
    if (data < 1 << 28) return all;  // the driver needs some memory itself
    const auto one_pass = [&](float factor) { pass(host.at<const float>(0), host.at<float>(1), factor, n); };
    const auto second_pass = [&] { return median_us([&] { one_pass(1.0f); }, [&] { one_pass(2.0f); }); };
    all.push_back({"resident_us", second_pass()});

    // take away all memory but 3/4 of what the data need
    prepare(host, size);
    std::size_t free = 0, total = 0;
    void* taken = nullptr;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (free > data && cudaMalloc(&taken, free - data / 4 * 3) == cudaSuccess) {
      all.push_back({"oversubscribed_us", second_pass()});
    }
    cudaFree(taken);
    cudaGetLastError();  // of a cudaMalloc that failed: no figure then
    return all;
  }
};

// x and y are managed: cudaMallocManaged(&x, n * sizeof(float)), cudaFree(x).
LADDER_STEP(Oversubscribed);
