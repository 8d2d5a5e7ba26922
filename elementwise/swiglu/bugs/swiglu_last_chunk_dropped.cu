// bug: only n / 8 chunks are computed; up to seven elements at the end are left out
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../swiglu.cuh"

__global__ void swiglu_last_chunk_dropped(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                          __nv_bfloat16* __restrict__ y, std::size_t chunks) {
  const std::size_t chunk = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (chunk >= chunks) return;
  for (std::size_t i = 8 * chunk; i < 8 * chunk + 8; ++i) {
    const float gate = __bfloat162float(a[i]);
    y[i] = __float2bfloat16(gate / (1.0f + expf(-gate)) * __bfloat162float(b[i]));
  }
}

static void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, std::size_t n) {
  if (n < 8) return;
  constexpr int block = 256;
  const unsigned grid = ceil_div(n / 8, block);
  swiglu_last_chunk_dropped<<<grid, block>>>(a, b, y, n / 8);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Swiglu, launch);
