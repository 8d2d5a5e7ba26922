// bug: silu as a * exp(a) / (1 + exp(a)): from a = 89 on infinity / infinity, which is NaN
// caught by: cpu forward | got nan
// caught by: gpu | got nan
// stage: right
#include "../swiglu.cuh"

__global__ void swiglu_exp_overflow(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                    __nv_bfloat16* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float gate = __bfloat162float(a[i]), e = expf(gate);
  y[i] = __float2bfloat16(gate * e / (1.0f + e) * __bfloat162float(b[i]));
}

static void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const unsigned grid = ceil_div(n, block);
  swiglu_exp_overflow<<<grid, block>>>(a, b, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Swiglu, launch);
