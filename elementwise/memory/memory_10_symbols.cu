// Problem:  steps 01 to 09 allocate z. Small data of fixed size, such as parameters or counters, need no allocation.
// Idea:     variables of the program: __device__ and __constant__ ones are copied by name, and a __managed__ one is
//           read by the host itself. Here a __device__ array carries all of x and y, a part at a time.
// Expect:   0.6 to 0.95x step 02 at 2^26: a copy to a symbol is a copy to its address, but 256 parts of 1 MB follow
//           each other, and each is two copies and a launch.
// Measured: 1.79x step 09, 0.37 of the link at 2^26 (H200); 1.73x, 0.39 (H100).
// Next:     which pointer does a kernel get if you pass it `&part` from the host?
#include "memory.cuh"

#include <stdexcept>

constexpr std::size_t kPart = 1 << 18;

static __device__ float part[kPart];
static __constant__ float factor;        // at most 64 KB of these; a warp reads one address per clock
static __managed__ unsigned parts_done;  // one address for the host and the kernels

__global__ void memory_double_part(std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) part[i] *= factor;
  if (i == 0) ++parts_done;
}

static std::size_t bytes_at(std::size_t begin, std::size_t n) { return std::min(kPart, n - begin) * sizeof(float); }

static void to_symbol(const float* x, std::size_t begin, std::size_t n) {
  CUDA_CHECK(cudaMemcpyToSymbolAsync(part, x + begin, bytes_at(begin, n), 0, cudaMemcpyHostToDevice));
}
static void from_symbol(float* y, std::size_t begin, std::size_t n) {
  CUDA_CHECK(cudaMemcpyFromSymbolAsync(y + begin, part, bytes_at(begin, n), 0, cudaMemcpyDeviceToHost));
}

static void copy_in(const float* x, float*, std::size_t n) {
  for (std::size_t begin = 0; begin < n; begin += kPart) to_symbol(x, begin, n);
}
static void copy_out(const float*, float* y, std::size_t n) {
  for (std::size_t begin = 0; begin < n; begin += kPart) from_symbol(y, begin, n);
}

static void whole(const float* x, float* y, std::size_t n) {
  CUDA_CHECK(cudaDeviceSynchronize());  // the host doesn't touch managed memory while a kernel runs
  parts_done = 0;
  static const float two = 2.0f;
  CUDA_CHECK(cudaMemcpyToSymbolAsync(factor, &two, sizeof two, 0, cudaMemcpyHostToDevice));
  for (std::size_t begin = 0; begin < n; begin += kPart) {
    to_symbol(x, begin, n);
    memory_double_part<<<ceil_div(std::min(kPart, n - begin), 256), 256>>>(std::min(kPart, n - begin));
    CUDA_CHECK(cudaGetLastError());
    from_symbol(y, begin, n);
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  if (parts_done != ceil_div(n, kPart)) throw std::runtime_error("a kernel did not count its part");
}

// x and y are pinned: cudaMallocHost(&x, n * sizeof(float)), cudaFreeHost(x).
LADDER_STEP(Transfer, ladder::Place::pinned, copy_in, copy_out, whole);
