// bug: each thread's range is computed in 32 bits, and thread * n passes 2^32 for n = 2^20
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../add.cuh"

__global__ void add_pieces(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                           unsigned n) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  const unsigned begin = thread * n / threads, end = (thread + 1) * n / threads;  // the products need 64 bits
  for (unsigned i = begin; i < end; ++i) c[i] = a[i] + b[i];
}

static void launch(const float* a, const float* b, float* c, std::size_t n) {
  add_pieces<<<32, 256>>>(a, b, c, static_cast<unsigned>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add, launch);
