// Problem:  step 02 copies n^2 / 8 bytes to the host, which waits for the mask and delays the next launch.
// Idea:     one block visits the boxes in order. The flags of removed boxes are words in shared memory. If a box is
//           kept, all threads OR its row of the mask into them, neighbouring threads neighbouring words.
// Expect:   0.3 to 1.2x step 02 at 1024 and 4096 boxes, more only beyond: each kept box costs two barriers and a load
//           from memory, about a microsecond. The copy grows with n^2, the chain at most with n.
// Measured: 11.6x step 02, 0.503 TFLOP/s at 16384 (H200).
// Next:     64 boxes share a word. Which mask words decide about these 64 once all earlier boxes are decided?
#include "nms.cuh"
#include "overlap_mask.cuh"

constexpr int kBlock = 512;

__global__ void nms_one_block(const Mask* __restrict__ mask, std::int8_t* __restrict__ keep, std::size_t n,
                              std::size_t words) {
  extern __shared__ Mask removed[];
  for (std::size_t c = threadIdx.x; c < words; c += kBlock) removed[c] = 0;
  __syncthreads();
  for (std::size_t i = 0; i < n; ++i) {
    const bool kept = (removed[i / kTile] >> i % kTile & 1) == 0;  // the same for all threads
    if (threadIdx.x == 0) keep[i] = kept;
    if (!kept) continue;
    __syncthreads();  // all threads have read the word
    for (std::size_t c = i / kTile + threadIdx.x; c < words; c += kBlock) removed[c] |= mask[i * words + c];
    __syncthreads();
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  const std::size_t words = ceil_div(n, kTile);  // at most 32 KB of flags
  const Mask* mask = overlap_mask(boxes, n, words, threshold);
  nms_one_block<<<1, kBlock, words * sizeof(Mask)>>>(mask, keep, n, words);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch, 1.0 / 8);
