// Step 01 needs three loads, none of them dense. Idea: a fourth float. 16 bytes are a float4, one load, perfectly
// coalesced; where the array is not aligned to 16 bytes, three scalar loads as before.
// Expect: slower than step 01 where that was near the memory's speed: 20 bytes move per vector instead of 16, a fourth
// of what is read being padding. Faster only where instructions or latency were the limit, or the padding is of use.
// Next question: does struct alignas(16) { float x, y, z; } do the same? (Yes: its size is rounded up to 16, and the
// compiler may then load it at once. Without alignas a struct of three floats never is.)
#include "vec3_norm.cuh"

__global__ void vec3_norm_padded(const float* __restrict__ padded, float* __restrict__ out, std::size_t n,
                                 bool aligned) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* v = padded + 4 * i;
  const float4 p = aligned ? *reinterpret_cast<const float4*>(v) : make_float4(v[0], v[1], v[2], 0.0f);
  out[i] = sqrtf(p.x * p.x + p.y * p.y + p.z * p.z);
}

static void launch(const Vectors& in, float* out, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const bool aligned = aligned_for<float4>(in.padded);
  vec3_norm_padded<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(in.padded, out, n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Vec3Norm, launch);
