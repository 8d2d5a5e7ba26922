// A vector of any length: step 05 reads once what the SMs hold, step 06 reads all of it twice, each time at full speed.
// The first call at a length times both and remembers the faster one (any_shape.cuh).
#include "../softmax.cuh"
#include "any_shape.cuh"
#include "../softmax_05_streamed.cu"
#include "../softmax_06_two_passes.cu"

struct VectorCall {
  const float* x;
  float* y;
  std::size_t n;
  Shape shape() const { return {n, alignment(x), alignment(y)}; }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(y, n, false);
  }
};

static bool any(const VectorCall&) { return true; }

static const Candidate<VectorCall> kCandidates[] = {
    {"streamed", any, [](const VectorCall& call) { launch_streamed(call.x, call.y, call.n); }},
    {"two_passes", any, [](const VectorCall& call) { launch_two_passes(call.x, call.y, call.n); }},
};

static void launch(const float* x, float* y, std::size_t n) {
  if (n > 0) launch_fastest(kCandidates, VectorCall{x, y, n});
}

static std::size_t roundings(std::size_t n) { return std::max(roundings_streamed(n), roundings_two_passes(n)); }

LADDER_STEP(Softmax, launch, roundings);
