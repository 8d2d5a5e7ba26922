// Step 01 loops. Idea: floats are ordered as their bits are. For numbers with sign bit 0 a greater float has greater
// bits as int; for those with sign bit 1 it has smaller bits as unsigned, and all of them are greater unsigned than any
// of the others. So atomicMax(int) puts in a positive number and atomicMin(unsigned) a negative one, and either leaves
// alone what is above it. NaN, made positive, is above infinity.
// Expect: one atomic operation per element whatever the data: slower than step 01, whose threads mostly only read.
// Next question: why not convert all floats to ordered integers first? (One could, see step 03; but then *out would
// hold the integer, and somebody must convert it back at the end.)
#include "max.cuh"

__device__ static void atomic_max(float* address, float value) {
  const int bits = value != value ? 0x7fffffff : __float_as_int(value);
  if (bits >= 0) {
    atomicMax(reinterpret_cast<int*>(address), bits);
  } else {
    atomicMin(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(bits));
  }
}

__global__ void max_atomic_integer_start(float* out) { *out = -INFINITY; }

__global__ void max_atomic_integer(const float* __restrict__ x, float* out, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(out, x[i]);
}

static void launch(const float* x, float* out, std::size_t n) {
  max_atomic_integer_start<<<1, 1>>>(out);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  constexpr int block = 256;
  max_atomic_integer<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
