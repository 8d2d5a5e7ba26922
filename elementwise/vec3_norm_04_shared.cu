// Step 03 asks the caller to change the layout. Idea: keep the array of structs, and rearrange on the chip. A block
// loads its vectors as what they are in memory, a run of floats, four at a time, into shared memory; then each thread
// picks up its own: four vectors, 12 floats, and stores four results at once. Lanes lie 12 words apart there: as
// float4, within each group of eight lanes every bank once.
// Expect: the speed of a copy. The detour through shared memory costs a barrier, and hides as arithmetic does.
// Next question: and if a thread took one vector, three words? (Stride 3 is odd: 32 different banks, no conflict
// either. With a stride of 4, as padded structs have, lanes 0, 8, 16, 24 share a bank.)
#include "vec3_norm.cuh"

constexpr int kBlock = 256;
constexpr int kVectors = 4 * kBlock;  // a block's
constexpr int kFloats = 3 * kVectors;

__device__ static float norm(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }

__global__ void __launch_bounds__(kBlock)
    vec3_norm_shared(const float* __restrict__ packed, float* __restrict__ out, std::size_t n, bool aligned) {
  __shared__ float4 tile[kFloats / 4];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kVectors;
  const int tid = threadIdx.x;
  if (!aligned || first + kVectors > n) {  // for the whole block
    for (std::size_t i = first + tid; i < n && i < first + kVectors; i += kBlock) {
      out[i] = norm(packed[3 * i], packed[3 * i + 1], packed[3 * i + 2]);
    }
    return;
  }
  const float4* from = reinterpret_cast<const float4*>(packed + 3 * first);
#pragma unroll
  for (int k = 0; k < 3; ++k) tile[k * kBlock + tid] = from[k * kBlock + tid];
  __syncthreads();
  const float4 a = tile[3 * tid], b = tile[3 * tid + 1], c = tile[3 * tid + 2];
  reinterpret_cast<float4*>(out + first)[tid] =
      make_float4(norm(a.x, a.y, a.z), norm(a.w, b.x, b.y), norm(b.z, b.w, c.x), norm(c.y, c.z, c.w));
}

static void launch(const Vectors& in, float* out, std::size_t n) {
  if (n == 0) return;
  const bool aligned = aligned_for<float4>(in.packed, out);
  vec3_norm_shared<<<static_cast<unsigned>(ceil_div(n, kVectors)), kBlock>>>(in.packed, out, n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Vec3Norm, launch);
