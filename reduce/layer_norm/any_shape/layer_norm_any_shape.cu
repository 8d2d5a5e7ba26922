// Layer norm of rows of any length and alignment, on any GPU. Each candidate is correct for all calls that it accepts;
// the first call at a shape finds the fastest (common/any_shape.cuh).
//   thread      up to 16 elements: one thread per row, many rows in shared memory at a time
//   on_chip     up to 32,771: 8 lanes to 512 threads hold a row in registers, half of the longest rows in shared memory
//   team        blocks anywhere on the GPU share a row and exchange moments through global memory
//   persistent  step 08: clusters that go from row to row
//   twice       rows that the GPU can't hold are read twice
#include "../layer_norm.cuh"
#include "../../norm_on_chip.cuh"
#include "../../norm_team.cuh"
#include "../../norm_twice.cuh"

#ifndef CUDA_EMU  // the emulator has no clusters
#include "../layer_norm_08_persistent.cu"

// Accepts rows that fit in a cluster, if the kernel was compiled for a GPU with clusters.
static bool accepts_persistent(const NormCall& c) {
  if (c.cols <= RowNorm::kLongRow || c.cols > kMostBlocks * kOfBlock) return false;
  cudaFuncAttributes code;
  CUDA_CHECK(cudaFuncGetAttributes(&code, layer_norm_persistent<true>));
  return code.ptxVersion >= 90 && kSharedBytes + (1 << 10) <= most_shared_bytes();
}
static void launch_persistent(const NormCall& c) {
  launch_persistent(c.x, c.gamma, c.beta, c.y, c.rows, c.cols, c.epsilon);
}
#endif

static const Candidate<NormCall> kCandidates[] = {
    {"thread", norm_on_chip::accepts_thread, norm_on_chip::launch_thread<Norm::layer>},
    {"on_chip", norm_on_chip::accepts, norm_on_chip::launch<Norm::layer>},
    {"team", norm_team::accepts<Norm::layer>, norm_team::launch<Norm::layer>},
#ifndef CUDA_EMU
    {"persistent", accepts_persistent, launch_persistent},
#endif
    {"twice", norm_twice::accepts, norm_twice::launch<Norm::layer>},
};

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  launch_fastest(kCandidates, NormCall{x, gamma, beta, y, y, rows, cols, epsilon});
}

LADDER_STEP(LayerNorm, launch, LayerNorm::any_shape);
