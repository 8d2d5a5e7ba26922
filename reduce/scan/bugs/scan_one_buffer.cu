// bug: Hillis and Steele in one buffer, one barrier per round: values change before a neighbour has read them
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=1025
// stage: right
#include "../scan.cuh"

constexpr int kBlock = 256;

__global__ void scan_one_buffer(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  float before = 0.0f;
  if (exclusive && tid == 0) out[0] = 0.0f;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t i = begin + tid;
    tile[tid] = i < n ? x[i] : 0.0f;
    for (int offset = 1; offset < kBlock; offset *= 2) {
      __syncthreads();
      if (tid >= offset) tile[tid] += tile[tid - offset];
    }
    __syncthreads();
    const std::size_t to = exclusive ? i + 1 : i;
    if (to < n) out[to] = before + tile[tid];
    before += tile[kBlock - 1];
    __syncthreads();
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  scan_one_buffer<<<1, kBlock>>>(x, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Scan, launch);
