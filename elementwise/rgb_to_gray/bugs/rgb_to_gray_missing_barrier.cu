// bug: no barrier between the loads into shared memory and the reads of other threads' bytes
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --height=1 --width=1024
// stage: right
#include "../rgb_to_gray.cuh"

constexpr int kBlock = 256;

// One pixel per thread: a block's 768 bytes, loaded with neighbouring lanes on neighbouring bytes.
__global__ void rgb_to_gray_missing_barrier(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray,
                                            std::size_t n) {
  __shared__ std::uint8_t tile[3 * kBlock];
  const std::size_t first = std::size_t{blockIdx.x} * kBlock;
  for (int k = threadIdx.x; k < 3 * kBlock && 3 * first + k < 3 * n; k += kBlock) tile[k] = rgb[3 * first + k];
  const std::uint8_t* pixel = tile + 3 * threadIdx.x;
  if (first + threadIdx.x < n) {
    gray[first + threadIdx.x] =
        static_cast<std::uint8_t>((19595u * pixel[0] + 38470u * pixel[1] + 7471u * pixel[2] + 32768u) >> 16);
  }
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n == 0) return;
  rgb_to_gray_missing_barrier<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(rgb, gray, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
