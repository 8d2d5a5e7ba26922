// bug: no barrier between the warps' maxima and their reader, so a warp reads maxima that are not stored yet
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=7 --cols=1025
// stage: right
#include "../int8_row.cuh"

constexpr int kBlock = 256;

__device__ static unsigned block_max_without_barrier(unsigned v) {
  __shared__ unsigned warps[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_max(v);
  if (lane == 0) warps[warp] = v;
  return warp_max(lane < kBlock / 32 ? warps[lane] : 0);
}

__global__ void quantize_without_barrier(const float* __restrict__ x, std::int8_t* __restrict__ q,
                                         float* __restrict__ scale, std::size_t cols) {
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  unsigned greatest = 0;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) greatest = max(greatest, magnitude(x[c]));
  const float row_scale = scale_of(block_max_without_barrier(greatest));
  if (threadIdx.x == 0) scale[blockIdx.x] = row_scale;

  const Quantizer quantized(row_scale);
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) q[c] = quantized(x[c]);
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;  // a grid of 0 blocks is an error
  quantize_without_barrier<<<static_cast<unsigned>(rows), kBlock>>>(x, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Quantize, launch);
