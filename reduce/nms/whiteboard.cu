#include <cuda_runtime.h>

// Say: boxes are sorted by score, best first; equal scores stay in order. A kept box removes later ones that overlap it
// too much, and a removed box removes none: that makes the flags a chain. The n^2 / 2 comparisons are no chain. So: all
// comparisons in parallel, one bit each, then a short scan over bits.
// Say: no division, so 0 / 0 can't happen; > and not >=; with NaN every comparison is false. The intrinsics keep the
// compiler from fusing; with FMA, a box next to the threshold could differ from the CPU's answer.
__device__ float area(float4 a) { return __fmul_rn(__fsub_rn(a.z, a.x), __fsub_rn(a.w, a.y)); }

__device__ bool removes(float4 a, float4 b, float threshold) {
  const float w = fmaxf(0, __fsub_rn(fminf(a.z, b.z), fmaxf(a.x, b.x)));
  const float h = fmaxf(0, __fsub_rn(fminf(a.w, b.w), fmaxf(a.y, b.y))), both = __fmul_rn(w, h);
  return both > 0 && both > __fmul_rn(threshold, __fsub_rn(__fadd_rn(area(a), area(b)), both));
}

__device__ float4 box(const float* p) { return make_float4(p[0], p[1], p[2], p[3]); }  // Say: a float4, if aligned

// Bit b of mask[i * words + c] is 1 if box i removes box 64 c + b.
__global__ void compare(const float* boxes, unsigned long long* mask, size_t n, size_t words, float threshold) {
  __shared__ float4 tile[64];
  const size_t c = blockIdx.x, i = size_t{blockIdx.y} * 64 + threadIdx.x, j = c * 64 + threadIdx.x;
  if (c < blockIdx.y) return;  // Say: the whole block, so the barrier is safe; those boxes are better
  if (j < n) tile[threadIdx.x] = box(boxes + 4 * j);
  __syncthreads();
  unsigned long long word = 0;
  for (int b = 0; i < n && b < 64 && c * 64 + b < n; ++b)
    if (c * 64 + b > i && removes(box(boxes + 4 * i), tile[b], threshold))
      word |= 1ull << b;  // Say: an int has 32 bits
  if (i < n) mask[i * words + c] = word;
}

// One block. Next: settle the 64 boxes of a word from shared memory, so two barriers per word instead of per box.
__global__ void scan(const unsigned long long* mask, signed char* keep, size_t n, size_t words) {
  extern __shared__ unsigned long long removed[];
  for (size_t c = threadIdx.x; c < words; c += blockDim.x) removed[c] = 0;
  for (size_t i = 0; i < n; ++i) {
    __syncthreads();                                     // Say: all have written
    const bool kept = !(removed[i / 64] >> i % 64 & 1);  // Say: the same for all threads
    if (threadIdx.x == 0) keep[i] = kept;
    __syncthreads();  // Say: all have read
    for (size_t c = i / 64 + threadIdx.x; kept && c < words; c += blockDim.x) removed[c] |= mask[i * words + c];
  }
}

// mask: n * words words. Say: the flags of 393,216 boxes fit in 48 KB.
cudaError_t launch(const float* boxes, signed char* keep, size_t n, float threshold, unsigned long long* mask) {
  if (n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const size_t words = (n + 63) / 64;
  compare<<<dim3(words, words), 64>>>(boxes, mask, n, words, threshold);
  scan<<<1, 256, words * sizeof(unsigned long long)>>>(mask, keep, n, words);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "nms.cuh"
#include "whiteboard.cuh"
static cudaError_t launch_all(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  return launch(boxes, keep, n, threshold, scratch<unsigned long long>(n * ((n + 63) / 64)));
}
LADDER_STEP(Nms, checked<launch_all>, 1.0 / 8);
