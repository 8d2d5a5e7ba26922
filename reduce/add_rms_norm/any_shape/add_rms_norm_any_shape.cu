// Addition and RMS norm of rows of any length and alignment, on any GPU, by the kernels of layer_norm_any_shape.cu,
// which add during the load. The first call at a shape finds the fastest candidate (common/any_shape.cuh).
#include "../add_rms_norm.cuh"
#include "../../norm_on_chip.cuh"
#include "../../norm_team.cuh"
#include "../../norm_twice.cuh"

static const Candidate<NormCall> kCandidates[] = {
    {"thread", norm_on_chip::accepts_thread, norm_on_chip::launch_thread<Norm::add_rms>},
    {"on_chip", norm_on_chip::accepts, norm_on_chip::launch<Norm::add_rms>},
    {"team", norm_team::accepts<Norm::add_rms>, norm_team::launch<Norm::add_rms>},
    {"twice", norm_twice::accepts, norm_twice::launch<Norm::add_rms>},
};

static void launch(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  launch_fastest(kCandidates, NormCall{x, gamma, gamma, residual, y, rows, cols, epsilon});
}

LADDER_STEP(AddRmsNorm, launch, AddRmsNorm::any_shape_by_root_mean_square);
