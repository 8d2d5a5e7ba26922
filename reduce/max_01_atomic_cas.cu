// The first answer: atomicMax. CUDA has none for float, so it is built from atomicCAS: read what is there; as long as
// ours is greater, try to put it in its place; if somebody else was faster, look at what he left. Unlike a sum, a
// maximum does not depend on the order: the same bits every run.
// Expect: less bad than a sum of atomics. Once the maximum is nearly found, nobody writes any more, and a thread only
// reads; but each does, and the first ones fight for the place.
// Next question: what does it do with NaN, and with -0? (That is what is_above decides. value > seen would lose both.)
#include "max.cuh"

// NaN above everything, +0 above -0.
__device__ static bool is_above(float a, float b) {
  if (a != a) return b == b;
  return a > b || (a == b && __float_as_int(a) > __float_as_int(b));
}

__device__ static void atomic_max(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int seen = *bits;
  while (is_above(value, __int_as_float(seen))) {
    const int expected = seen;
    seen = atomicCAS(bits, expected, __float_as_int(value));
    if (seen == expected) break;
  }
}

__global__ void max_atomic_cas_start(float* out) { *out = -INFINITY; }

__global__ void max_atomic_cas(const float* __restrict__ x, float* out, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(out, x[i]);
}

static void launch(const float* x, float* out, std::size_t n) {
  max_atomic_cas_start<<<1, 1>>>(out);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  constexpr int block = 256;
  max_atomic_cas<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
