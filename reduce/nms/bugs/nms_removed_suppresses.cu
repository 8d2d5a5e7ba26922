// bug: one thread per box tests all better boxes at once, so a box that is itself removed still suppresses others
// caught by: cpu forward | is wrong: got 0, want 1
// caught by: gpu | is wrong: got 0, want 1
// stage: right
#include "../box.cuh"
#include "../nms.cuh"

__global__ void nms_removed_suppresses(const float* __restrict__ boxes, std::int8_t* __restrict__ keep, std::size_t n,
                                       float threshold) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Box box = load_box(boxes, i);
  bool kept = true;
  for (std::size_t j = 0; j < i && kept; ++j) kept = !suppresses(load_box(boxes, j), box, threshold);
  keep[i] = kept;
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  if (n == 0) return;
  constexpr int block = 256;
  nms_removed_suppresses<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(boxes, keep, n, threshold);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch);
