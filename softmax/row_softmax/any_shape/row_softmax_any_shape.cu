// Rows of any length and alignment: a measured choice (any_shape.cuh) of kernels that read x once from DRAM, by float4.
#include "../row_softmax.cuh"
#include "any_shape.cuh"
#include "blocks_per_row.cuh"
#include "lanes_per_row.cuh"
#include "short_rows.cuh"
#include "../row_softmax_09_relay.cu"

template <unsigned kKept>
static bool fit_in_warp(const MatrixCall& call) {
  return call.cols <= longest_row(kKept);
}
#ifndef CUDA_EMU
template <unsigned kBlocks>
static bool fit_in_cluster(const MatrixCall& call) {
  return call.cols > 8192 && ClusterBlocks(call.cols, kBlocks).fit();
}
#endif

static const Candidate<MatrixCall> kCandidates[] = {
    {"short", [](const MatrixCall& call) { return call.cols <= 16; }, run<launch_short>},
    {"lanes_1", fit_in_warp<1>, run<launch_lanes<1>>},  // float4 per lane
    {"lanes_4", fit_in_warp<4>, run<launch_lanes<4>>},
    {"lanes_8", fit_in_warp<8>, run<launch_lanes<8>>},
    {"block", [](const MatrixCall& call) { return call.cols > 512 && call.cols <= kLongestInBlock; },
     run<launch_block>},
#ifndef CUDA_EMU
    {"cluster_4", fit_in_cluster<4>, run<launch_cluster<4>>},
    {"cluster_8", fit_in_cluster<8>, run<launch_cluster<8>>},
#endif
    {"relay", [](const MatrixCall& call) { return call.cols > 1024; }, run<launch_relay>},
};

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows > 0 && cols > 0) launch_fastest(kCandidates, MatrixCall{x, y, rows, cols});
}

// The largest bound of all candidates. For a held row: numerator 2 exps, division, product; denominator exp, 2
// additions in a float4, one for each of 21 float4 and 2 edges, 30 over warp, block and cluster.
static std::size_t roundings(std::size_t cols) {
  return std::max<std::size_t>(10 + 4 + (2 + kHeld + kMostChunks + 2) + 30, roundings_relay(cols));
}

LADDER_STEP(RowSoftmax, launch, roundings);
