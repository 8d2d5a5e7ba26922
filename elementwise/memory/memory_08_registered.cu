// Problem:  steps 02 to 07 choose how x and y are allocated. Often they come from malloc, or from another library.
// Idea:     cudaHostRegister pins pages that exist already, and cudaHostUnregister unpins them.
// Expect:   0.3 to 1.1x step 01 at 2^26: 65536 pages of 4 KB are locked for x and again for y, about 0.5 us each, which
//           is what the driver's copies cost. It pays for a buffer that is pinned once and used often.
// Measured: 0.14x step 07, 0.08 of the link at 2^26 (H200); 0.16x, 0.10 (H100).
// Next:     how do you copy from pageable memory without pinning it?
#include "memory.cuh"

// Runs copy() while the pages of data are pinned.
template <typename Copy>
static void while_pinned(const void* data, std::size_t bytes, Copy copy) {
  void* pages = const_cast<void*>(data);
  CUDA_CHECK(cudaHostRegister(pages, bytes, cudaHostRegisterDefault));
  copy();
  CUDA_CHECK(cudaDeviceSynchronize());  // the copy engine still reads or writes them
  CUDA_CHECK(cudaHostUnregister(pages));
}

static void copy_in(const float* x, float* z, std::size_t n) {
  const std::size_t bytes = n * sizeof(float);
  while_pinned(x, bytes, [&] { CUDA_CHECK(cudaMemcpyAsync(z, x, bytes, cudaMemcpyHostToDevice)); });
}

static void copy_out(const float* z, float* y, std::size_t n) {
  const std::size_t bytes = n * sizeof(float);
  while_pinned(y, bytes, [&] { CUDA_CHECK(cudaMemcpyAsync(y, z, bytes, cudaMemcpyDeviceToHost)); });
}

// Adds a figure: the time to pin and unpin x.
class Registered : public Transfer {
 public:
  Registered() : Transfer(ladder::Place::pageable, copy_in, copy_out) {}
  std::vector<ladder::Figure> figures(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<ladder::Figure> all = Transfer::figures(host, size);
    const float* x = host.at<const float>(0);
    const std::size_t bytes = size[0] * sizeof(float);
    if (bytes > 0) all.push_back({"register_us", median_us([] {}, [&] { while_pinned(x, bytes, [] {}); })});
    return all;
  }
};

// x and y are pageable: x = malloc(n * sizeof(float)), free(x).
LADDER_STEP(Registered);
