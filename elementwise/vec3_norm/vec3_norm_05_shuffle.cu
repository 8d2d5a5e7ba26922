// Problem:  step 04 stores every vector to shared memory, waits at a barrier, and loads it again.
// Idea:     exchange arrays within the warp. Each lane has three float4 in registers and needs three that others hold;
//           in each of three rounds every lane offers one of its own and takes one: 12 shuffles of a word.
// Expect:   0.97 to 1.03x step 04: DRAM limits both. 12 shuffles instead of 24 wavefronts of shared memory (computed),
//           and no barrier.
// Measured: 1.00x step 04, 1.02 of a copy at 2^26 (H200).
// Next:     when does shared memory serve such an exchange better?
#include "vec3_norm.cuh"

constexpr int kBlock = 256;
constexpr int kVectors = 4 * kBlock;  // per block
constexpr unsigned kAll = 0xffffffff;

__device__ static float norm(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }

// Returns element 3 lane + c of the 96 that the lanes of a warp hold in a[0], then a[1], then a[2]. All lanes must call
// it. The element is in lane (3 lane + c) % 32. 32 k + lane is c mod 3 for one k only, so that lane knows which a[k] to
// pass. An index a[k] would put the array into local memory.
__device__ static float4 take(const float4 (&a)[3], int c, int lane) {
  const int k = 2 * (c + 96 - lane) % 3, from = (3 * lane + c) % 32;
  const auto offer = [&](float p, float q, float r) { return __shfl_sync(kAll, k == 0 ? p : k == 1 ? q : r, from); };
  return make_float4(offer(a[0].x, a[1].x, a[2].x), offer(a[0].y, a[1].y, a[2].y), offer(a[0].z, a[1].z, a[2].z),
                     offer(a[0].w, a[1].w, a[2].w));
}

__global__ void __launch_bounds__(kBlock)
    vec3_norm_shuffle(const float* __restrict__ packed, float* __restrict__ out, std::size_t n, bool aligned) {
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
  vec3_norm_shuffle<<<ceil_div(n, kVectors), kBlock>>>(in.packed, out, n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Vec3Norm, launch);
