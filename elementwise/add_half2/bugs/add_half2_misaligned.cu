// bug: half2 without a test that the pointers are 4-byte aligned
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../add_half2.cuh"

__global__ void add_half2_unaligned(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                    std::size_t n) {
  const std::size_t i = 2 * (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (i + 2 <= n) {
    *reinterpret_cast<__half2*>(c + i) =
        __hadd2(*reinterpret_cast<const __half2*>(a + i), *reinterpret_cast<const __half2*>(b + i));
  } else if (i < n) {
    c[i] = __hadd(a[i], b[i]);
  }
}

static void launch(const __half* a, const __half* b, __half* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  add_half2_unaligned<<<static_cast<unsigned>(ceil_div(n, 2 * block)), block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AddHalf2, launch);
