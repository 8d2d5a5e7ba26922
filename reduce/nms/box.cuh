// Decides whether one box suppresses another, by exactly the operations that nms.cuh specifies.
#pragma once
#include "cuda_helpers.cuh"

struct Box {
  float x1, y1, x2, y2, area;
};

// boxes need not be 16-byte aligned.
__device__ inline Box load_box(const float* boxes, std::size_t i) {
  const float x1 = boxes[4 * i], y1 = boxes[4 * i + 1], x2 = boxes[4 * i + 2], y2 = boxes[4 * i + 3];
  return {x1, y1, x2, y2, __fmul_rn(__fsub_rn(x2, x1), __fsub_rn(y2, y1))};
}

// suppresses(a, b) equals suppresses(b, a). fminf and fmaxf drop a NaN, but the area keeps it.
__device__ inline bool suppresses(const Box& a, const Box& b, float threshold) {
  const float w = fmaxf(0.0f, __fsub_rn(fminf(a.x2, b.x2), fmaxf(a.x1, b.x1)));
  const float h = fmaxf(0.0f, __fsub_rn(fminf(a.y2, b.y2), fmaxf(a.y1, b.y1)));
  const float overlap = __fmul_rn(w, h);
  return overlap > 0.0f && overlap > __fmul_rn(threshold, __fsub_rn(__fadd_rn(a.area, b.area), overlap));
}
