// Problem:  a thread of step 03 moves 4 bytes per access: too few bytes in flight to cover the latency.
// Idea:     float4. One holds two pairs of neighbours. For halves, a float4 from each half makes four pairs.
// Expect:   0.93 to 1.0 of a copy at 16384x32x64x0: four times the bytes in flight, few instructions per element. Each
//           block's angles and barrier come before its first load; other blocks of the SM fill that gap.
// Measured: 1.10x step 03, 0.97 of a copy at 16384x32x64 (H200); 1.03x, 0.97 (H100).
// Next:     the rotated keys go into a cache next. How many bytes does that second kernel move?
#include "rope.cuh"

template <bool kHalves>
__global__ void rope_float4(const float* __restrict__ x, const int* __restrict__ position, float* __restrict__ y,
                            unsigned row, unsigned d, bool aligned) {
  alignas(16) __shared__ float sine[kMostWidth / 2], cosine[kMostWidth / 2];
  x += std::size_t{blockIdx.x} * row;
  y += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, kHalves);
  for (unsigned i = threadIdx.x; i < half; i += blockDim.x) {
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine[i], &cosine[i]);
  }
  __syncthreads();

  constexpr unsigned kPairs = kHalves ? 4 : 2;  // per thread
  for (unsigned e = kPairs * threadIdx.x; aligned && e < row / 2; e += kPairs * blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, kHalves);
    if constexpr (kHalves) {
      const float4 s = *reinterpret_cast<const float4*>(sine + i), c = *reinterpret_cast<const float4*>(cosine + i);
      const float4 a = *reinterpret_cast<const float4*>(x + at);
      const float4 b = *reinterpret_cast<const float4*>(x + at + distance);
      *reinterpret_cast<float4*>(y + at) =
          make_float4(a.x * c.x - b.x * s.x, a.y * c.y - b.y * s.y, a.z * c.z - b.z * s.z, a.w * c.w - b.w * s.w);
      *reinterpret_cast<float4*>(y + at + distance) =
          make_float4(a.x * s.x + b.x * c.x, a.y * s.y + b.y * c.y, a.z * s.z + b.z * c.z, a.w * s.w + b.w * c.w);
    } else {
      const float2 s = *reinterpret_cast<const float2*>(sine + i), c = *reinterpret_cast<const float2*>(cosine + i);
      const float4 v = *reinterpret_cast<const float4*>(x + at);
      *reinterpret_cast<float4*>(y + at) =
          make_float4(v.x * c.x - v.y * s.x, v.x * s.x + v.y * c.x, v.z * c.y - v.w * s.y, v.z * s.y + v.w * c.y);
    }
  }
  for (unsigned e = threadIdx.x; !aligned && e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, kHalves);
    const float a = x[at], b = x[at + distance];
    y[at] = a * cosine[i] - b * sine[i];
    y[at + distance] = a * sine[i] + b * cosine[i];
  }
}

static void launch(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads, std::size_t d,
                   bool halves) {
  if (tokens == 0 || heads == 0) return;
  const bool aligned = d % (halves ? 8 : 4) == 0 && aligned_for<float4>(x, y);
  const auto kernel = halves ? rope_float4<true> : rope_float4<false>;
  kernel<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                 static_cast<unsigned>(d), aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
