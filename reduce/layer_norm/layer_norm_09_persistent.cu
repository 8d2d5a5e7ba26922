// Problem:  rows longer than a block take clusters, which load, wait for one another, then store: never two of these at
//           once. And for every two rows gamma and beta come from L2, as many bytes as x.
// Idea:     clusters that stay. Each block keeps its part of gamma and beta in shared memory and goes from row to row;
//           cp.async brings its part of the next row while it normalises this one.
// Expect:   0.85 of a copy at 1024 x 131072 instead of 0.74: L2 serves half of the loads.
// Measured: 1.00x step 08, 0.98 of a copy at 32768x1024 (H200); 1.00x, 1.00 (H100).
// Why:      0.80 at 1024 x 131072: clusters of 8 fit on 120 of 132 SMs, and each has one row in flight while its blocks
//           wait for each other twice per row (hypothesis, not tested).
// Next:     only 15 clusters of 8 fit on 132 SMs. Who needs clusters, if pairs pass through global memory as well?
// needs: sm_90
#include "layer_by_shape.cuh"
#include "launch_cluster.cuh"

// A cluster has a row at a time, a thread kKept float4 of it. kAligned: see norm_float4.cuh.
template <unsigned kBlock, int kKept, unsigned kCluster, unsigned kPerSm, bool kAligned>
__global__ void __launch_bounds__(kBlock, kPerSm)
    layer_norm_persistent(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                          float* __restrict__ y, std::size_t rows, unsigned cols, float epsilon) {
  extern __shared__ float4 shared[];  // [next row, gamma, beta][kKept][thread]: a thread reads only what is its own
  __shared__ float4 warps[kBlock / 32], blocks[2][kCluster];
  constexpr unsigned kChunk = 4 * kBlock * kCluster, kPart = kKept * kBlock;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned tid = threadIdx.x, rank = blockIdx.x % kCluster, step = gridDim.x / kCluster;
  const unsigned first = rank * 4 * kBlock + (kAligned ? 4 * tid : tid);
  float4* const next = shared + tid;
  const auto copy = [&](std::size_t row) {
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
#pragma unroll
      for (unsigned i = 0; i < (kAligned ? 1 : 4); ++i) {
        const unsigned c = k * kChunk + first + i * kBlock;
        float* const to = reinterpret_cast<float*>(next + k * kBlock) + i;
        if (c < cols) __pipeline_memcpy_async(to, x + row * cols + c, kAligned ? 16 : 4);
      }
    }
    __pipeline_commit();
  };

  // prologue: the first row, gamma and beta; n: how many elements the warp has of each row
  std::size_t row = blockIdx.x / kCluster;
  unsigned count = 0;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const unsigned c = k * kChunk + first;
    if (c < cols) count += kAligned ? 4 : min(4u, ceil_div(cols - c, kBlock));
    next[k * kBlock] = {0.0f, 0.0f, 0.0f, 0.0f};  // what lies behind the row's end stays 0
  }
  copy(row);
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const unsigned c = k * kChunk + first;
    next[kPart + k * kBlock] = load4<kAligned, kBlock>(gamma, c, cols);
    next[2 * kPart + k * kBlock] = load4<kAligned, kBlock>(beta, c, cols);
  }
  const float n = lanes_sum<32>(static_cast<float>(count));
  cluster.sync();  // all blocks have started: their shared memory may be written

  for (unsigned buffer = 0; row < rows; row += step, buffer ^= 1) {
    // this row to registers, the next one in flight
    float4 v[kKept];
    __pipeline_wait_prior(0);
#pragma unroll
    for (int k = 0; k < kKept; ++k) v[k] = next[k * kBlock];
    if (row + step < rows) copy(row + step);

    // the warp's mean and squared distances from it; merge the warps, then the blocks
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < kKept; ++k) sum += sum4(v[k]);
    const float mean = lanes_sum<32>(sum) / fmaxf(n, 1.0f);
#pragma unroll
    for (int k = 0; k < kKept; ++k) squares += squares4<kAligned, kBlock>(v[k], mean, k * kChunk + first, cols);
    squares = lanes_sum<32>(squares);
    if (tid % 32 == 0) warps[tid / 32] = {n, mean, squares, 0.0f};
    __syncthreads();
    if (tid < 32) {
      const float4 part = merge_parts(warps, kBlock / 32);
      // Two buffers: a fast block's next part comes while slow ones read these, but none after the next cluster.sync().
      if (tid < kCluster) *cluster.map_shared_rank(&blocks[buffer][rank], tid) = part;
    }
    cluster.sync();
    const float4 all = merge_parts(blocks[buffer], kCluster);

    // scale, shift, store
    const float factor = rsqrtf(all.z / static_cast<float>(cols) + epsilon);
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const float4 g = next[kPart + k * kBlock], b = next[2 * kPart + k * kBlock];
      store4<kAligned, kBlock>(y + row * cols, k * kChunk + first, cols, normalise4(v[k], all.y, factor, g, b));
    }
  }
}

template <unsigned kBlock, int kKept, unsigned kCluster, unsigned kPerSm>
static void start(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                  float epsilon) {
  const bool aligned = aligned_for<float4>(x, gamma, beta, y) && cols % 4 == 0;
  const auto kernel = aligned ? layer_norm_persistent<kBlock, kKept, kCluster, kPerSm, true>
                              : layer_norm_persistent<kBlock, kKept, kCluster, kPerSm, false>;
  constexpr unsigned bytes = 3 * kKept * kBlock * sizeof(float4);
  ClusterLaunch clusters(kernel, kCluster, kBlock, bytes);
  const auto count = std::min<std::size_t>(rows, clusters.resident());
  clusters.start(count, x, gamma, beta, y, rows, static_cast<unsigned>(cols), epsilon);
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  const bool keeps = rows > 0 && cols > 32768 && cols <= 262144;  // more than a block keeps, no more than a cluster
  const auto run = !keeps           ? launch_layer_by_shape
                   : cols <= 65536  ? start<256, 8, 8, 2>
                   : cols <= 131072 ? start<512, 8, 8, 1>
                                    : start<512, 8, 16, 1>;
  run(x, gamma, beta, y, rows, cols, epsilon);
}

// As step 08, whose threads have twice as many elements of such rows.
static std::size_t roundings(std::size_t cols) { return layer_by_shape_roundings(cols); }

LADDER_STEP(LayerNorm, launch, roundings);
