// A vector of any length: a measured choice (any_shape.cuh) of step 05, which reads once what fits, and step 06.
#include "../softmax.cuh"
#include "any_shape.cuh"
#include "../softmax_05_streamed.cu"
#include "../softmax_06_two_passes.cu"

// A vector is a matrix of one row.
static const Candidate<MatrixCall> kCandidates[] = {
    {"streamed", any, [](const MatrixCall& call) { launch_streamed(call.x, call.y, call.cols); }},
    {"two_passes", any, [](const MatrixCall& call) { launch_two_passes(call.x, call.y, call.cols); }},
};

static void launch(const float* x, float* y, std::size_t n) {
  if (n > 0) launch_fastest(kCandidates, MatrixCall{x, y, 1, n});
}

static std::size_t roundings(std::size_t n) { return std::max(roundings_streamed(n), roundings_two_passes(n)); }

LADDER_STEP(Softmax, launch, roundings);
