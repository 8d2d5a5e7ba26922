// RMS norm of rows of any length and alignment, on any GPU. The kernels are those of layer_norm_any_shape.cu without
// mean and beta. The first call at a shape finds the fastest candidate (common/any_shape.cuh).
#include "../rms_norm.cuh"
#include "../../norm_on_chip.cuh"
#include "../../norm_team.cuh"
#include "../../norm_twice.cuh"

static const Candidate<NormCall> kCandidates[] = {
    {"thread", norm_on_chip::accepts_thread, norm_on_chip::launch_thread<Norm::rms>},
    {"on_chip", norm_on_chip::accepts, norm_on_chip::launch<Norm::rms>},
    {"team", norm_team::accepts<Norm::rms>, norm_team::launch<Norm::rms>},
    {"twice", norm_twice::accepts, norm_twice::launch<Norm::rms>},
};

static void launch(const float* x, const float* gamma, float* y, std::size_t rows, std::size_t cols, float epsilon) {
  if (rows == 0 || cols == 0) return;
  launch_fastest(kCandidates, NormCall{x, gamma, gamma, y, y, rows, cols, epsilon});
}

LADDER_STEP(RmsNorm, launch, RmsNorm::any_shape_by_root_mean_square);
