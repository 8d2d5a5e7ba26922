// bug: no barrier after a row is ORed, so threads read the next flag before its box is removed
// caught by: cpu reverse | nms_missing_barrier
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=517
// stage: races and barriers
#include "../nms.cuh"
#include "../overlap_mask.cuh"

constexpr int kBlock = 512;

__global__ void nms_missing_barrier(const Mask* __restrict__ mask, std::int8_t* __restrict__ keep, std::size_t n,
                                    std::size_t words) {
  extern __shared__ Mask removed[];
  for (std::size_t c = threadIdx.x; c < words; c += kBlock) removed[c] = 0;
  __syncthreads();
  for (std::size_t i = 0; i < n; ++i) {
    const bool kept = (removed[i / kTile] >> i % kTile & 1) == 0;
    if (threadIdx.x == 0) keep[i] = kept;
    if (!kept) continue;
    for (std::size_t c = i / kTile + threadIdx.x; c < words; c += kBlock) removed[c] |= mask[i * words + c];
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  const std::size_t words = ceil_div(n, kTile);
  const Mask* mask = overlap_mask(boxes, n, words, threshold);
  nms_missing_barrier<<<1, kBlock, words * sizeof(Mask)>>>(mask, keep, n, words);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch, 1.0 / 8);
