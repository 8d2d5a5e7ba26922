// bug: the IoU is a quotient, and the test is negated: !(0 / 0 <= threshold) is true, so NaN suppresses
// caught by: cpu forward | is wrong: got 0, want 1
// caught by: gpu | is wrong: got 0, want 1
// stage: right
#include "../box.cuh"
#include "../nms.cuh"

__device__ static bool not_at_most(const Box& a, const Box& b, float threshold) {
  const float w = fmaxf(0.0f, __fsub_rn(fminf(a.x2, b.x2), fmaxf(a.x1, b.x1)));
  const float h = fmaxf(0.0f, __fsub_rn(fminf(a.y2, b.y2), fmaxf(a.y1, b.y1)));
  const float overlap = __fmul_rn(w, h);
  return !(overlap / __fsub_rn(__fadd_rn(a.area, b.area), overlap) <= threshold);
}

__global__ void nms_zero_over_zero(const float* __restrict__ boxes, std::int8_t* __restrict__ keep, std::size_t n,
                                   float threshold) {
  for (std::size_t i = 0; i < n; ++i) {
    const Box box = load_box(boxes, i);
    bool kept = true;
    for (std::size_t j = 0; j < i && kept; ++j) {
      kept = keep[j] == 0 || !not_at_most(load_box(boxes, j), box, threshold);
    }
    keep[i] = kept;
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  nms_zero_over_zero<<<1, 1>>>(boxes, keep, n, threshold);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch);
