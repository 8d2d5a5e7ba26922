// bug: union = areas - w * h as one fused multiply-add, with one rounding less: a different answer near the threshold
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../box.cuh"
#include "../nms.cuh"

__device__ static bool too_much(const Box& a, const Box& b, float threshold) {
  const float w = fmaxf(0.0f, fminf(a.x2, b.x2) - fmaxf(a.x1, b.x1));
  const float h = fmaxf(0.0f, fminf(a.y2, b.y2) - fmaxf(a.y1, b.y1));
  const float overlap = w * h;
  return overlap > 0.0f && overlap > threshold * fmaf(-w, h, a.area + b.area);
}

__global__ void nms_fused(const float* __restrict__ boxes, std::int8_t* __restrict__ keep, std::size_t n,
                          float threshold) {
  for (std::size_t i = 0; i < n; ++i) {
    const Box box = load_box(boxes, i);
    bool kept = true;
    for (std::size_t j = 0; j < i && kept; ++j) {
      kept = keep[j] == 0 || !too_much(load_box(boxes, j), box, threshold);
    }
    keep[i] = kept;
  }
}

static void launch(const float* boxes, std::int8_t* keep, std::size_t n, float threshold) {
  nms_fused<<<1, 1>>>(boxes, keep, n, threshold);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Nms, launch);
