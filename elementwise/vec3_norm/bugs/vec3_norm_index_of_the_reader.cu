// bug: the index of the register is the reader's. A shuffle takes what the source lane passes, chosen by its own index
// caught by: cpu | is wrong | --n=1025
// caught by: gpu | is wrong | --n=1025
// stage: right
#include "../vec3_norm.cuh"

constexpr int kBlock = 256;
constexpr int kVectors = 4 * kBlock;  // per block
constexpr unsigned kAll = 0xffffffff;

__device__ static float norm(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }

__device__ static float4 take(const float4 (&a)[3], int c, int lane) {
  const int k = (3 * lane + c) / 32, from = (3 * lane + c) % 32;  // k = 2 * (c + 96 - lane) % 3
  const auto offer = [&](float p, float q, float r) { return __shfl_sync(kAll, k == 0 ? p : k == 1 ? q : r, from); };
  return make_float4(offer(a[0].x, a[1].x, a[2].x), offer(a[0].y, a[1].y, a[2].y), offer(a[0].z, a[1].z, a[2].z),
                     offer(a[0].w, a[1].w, a[2].w));
}

__global__ void __launch_bounds__(kBlock)
    vec3_norm_readers_index(const float* __restrict__ packed, float* __restrict__ out, std::size_t n, bool aligned) {
  const std::size_t first = std::size_t{blockIdx.x} * kVectors;
  const int tid = threadIdx.x;
  if (!aligned || first + kVectors > n) {  // for the whole block
    for (std::size_t i = first + tid; i < n && i < first + kVectors; i += kBlock) {
      out[i] = norm(packed[3 * i], packed[3 * i + 1], packed[3 * i + 2]);
    }
    return;
  }
  // load: the warp's 128 vectors in memory order, as 96 consecutive float4
  const int lane = tid % 32;
  const float4* from = reinterpret_cast<const float4*>(packed + 3 * first) + 3 * (tid - lane);
  const float4 loaded[3] = {from[lane], from[32 + lane], from[64 + lane]};
  // compute and store: four vectors per thread
  const float4 a = take(loaded, 0, lane), b = take(loaded, 1, lane), c = take(loaded, 2, lane);
  reinterpret_cast<float4*>(out + first)[tid] =
      make_float4(norm(a.x, a.y, a.z), norm(a.w, b.x, b.y), norm(b.z, b.w, c.x), norm(c.y, c.z, c.w));
}

static void launch(const Vectors& in, float* out, std::size_t n) {
  if (n == 0) return;
  const bool aligned = aligned_for<float4>(in.packed, out);
  vec3_norm_readers_index<<<ceil_div(n, kVectors), kBlock>>>(in.packed, out, n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Vec3Norm, launch);
