// Problem:  a thread of step 04 moves 4 bytes per access.
// Idea:     float4 in registers, shared and global memory. If rows are not aligned, the same kernel loads four floats
//           that are kBlock apart, which is coalesced too (norm_float4.cuh).
// Expect:   1.0 to 1.2x step 04, 0.8 to 0.95 of a copy at 16384x4096, where step 04 is close to DRAM's rate. More at
//           8192 columns: a thread reads half of the row twice, in 4 trips instead of 16. 1.0 to 1.4x at 262144x128.
// Measured: 1.03x step 04, 0.86 of a copy at 16384x4096 (H200).
// Next:     at 128 columns each warp writes two rows of partial sums. How could the 8 warps of a block share two rows?
#include "../norm_float4.cuh"
#include "add_partials.cuh"
#include "layer_norm_grad.cuh"

// Returns both sums over the block to all threads. All threads must call it.
template <int kBlock>
__device__ static float2 block_sums(float2 v) {
  constexpr int kWarps = kBlock / 32;
  __shared__ float2 warps[kWarps];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    v = {v.x + __shfl_xor_sync(0xffffffff, v.x, mask), v.y + __shfl_xor_sync(0xffffffff, v.y, mask)};
  }
  __syncthreads();  // all threads have read the previous row's sums
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[lane % kWarps];
#pragma unroll
  for (int mask = kWarps / 2; mask > 0; mask /= 2) {
    v = {v.x + __shfl_xor_sync(0xffffffff, v.x, mask), v.y + __shfl_xor_sync(0xffffffff, v.y, mask)};
  }
  return v;
}

// A block has `height` rows, starting at row blockIdx.x * height, and two rows of partials. Its column sums are in
// shared memory if they fit, else in those rows. A thread always has the same columns, so they need no barrier.
template <int kBlock, bool kAligned, int kKept>
__global__ void layer_norm_grad_float4(const float* __restrict__ x, const float* __restrict__ dy,
                                       const float* __restrict__ gamma, const float* __restrict__ mean,
                                       const float* __restrict__ rstd, float* __restrict__ dx, float* partials,
                                       std::size_t rows, unsigned cols, std::size_t height, bool fits) {
  extern __shared__ float4 columns[];
  const unsigned kChunk = 4 * kBlock, first = kAligned ? 4 * threadIdx.x : threadIdx.x;  // as in step 04
  const std::size_t begin = blockIdx.x * height, end = min(begin + height, rows);
  partials += 2 * blockIdx.x * std::size_t{cols};
  float *const of_gamma = fits ? reinterpret_cast<float*>(columns) : partials, *const of_beta = of_gamma + cols;
  const auto load = [&](const float* p, unsigned c) { return load4<kAligned, kBlock>(p, c, cols); };
  const auto put = [&](float* p, unsigned c, float4 v) { store4<kAligned, kBlock>(p, c, cols, v); };
  for (unsigned c = first; c < cols; c += kChunk) put(of_gamma, c, {}), put(of_beta, c, {});

  for (std::size_t r = begin; r < end; ++r) {
    const float m = mean[r], s = rstd[r];
    const float *const x_row = x + r * cols, *const dy_row = dy + r * cols;
    float* const dx_row = dx + r * cols;

    // load, sum g and g x^; elements past the end are 0
    const auto load_x = [&](unsigned c) {
      const float4 v = load(x_row, c);
      return float4{(v.x - m) * s, (v.y - m) * s, (v.z - m) * s, (v.w - m) * s};
    };
    const auto load_dy = [&](unsigned c) { return load(dy_row, c); };
    float2 sums = {0.0f, 0.0f};
    const auto add = [&](unsigned c, float4 v, float4 d) {
      const float4 g = scale4(d, 1.0f, load(gamma, c));
      sums = {sums.x + sum4(g), sums.y + dot4(g, v)};
    };
    float4 kept_x[kKept], kept_dy[kKept];
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      kept_x[k] = load_x(k * kChunk + first);
      kept_dy[k] = load_dy(k * kChunk + first);
      add(k * kChunk + first, kept_x[k], kept_dy[k]);
    }
    for (unsigned c = kKept * kChunk + first; c < cols; c += kChunk) add(c, load_x(c), load_dy(c));
    sums = block_sums<kBlock>(sums);
    const float mean_g = sums.x / cols, mean_gv = sums.y / cols;

    // store dx, add to the column sums
    const auto finish = [&](unsigned c, float4 v, float4 d) {
      const float4 g = scale4(d, 1.0f, load(gamma, c));
      put(dx_row, c,
          {s * (g.x - mean_g - v.x * mean_gv), s * (g.y - mean_g - v.y * mean_gv), s * (g.z - mean_g - v.z * mean_gv),
           s * (g.w - mean_g - v.w * mean_gv)});
      put(of_gamma, c, add4(load(of_gamma, c), scale4(d, 1.0f, v)));
      put(of_beta, c, add4(load(of_beta, c), d));
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (k * kChunk + first < cols) finish(k * kChunk + first, kept_x[k], kept_dy[k]);
    }
    for (unsigned c = kKept * kChunk + first; c < cols; c += kChunk) finish(c, load_x(c), load_dy(c));
  }

  if (!fits) return;
  for (unsigned c = first; c < cols; c += kChunk) {
    put(partials, c, load(of_gamma, c));
    put(partials + cols, c, load(of_beta, c));
  }
}

template <bool kAligned>
static auto kernel_for(std::size_t cols) {
  return cols <= 128    ? layer_norm_grad_float4<32, kAligned, 1>
         : cols <= 1024 ? layer_norm_grad_float4<256, kAligned, 1>
                        : layer_norm_grad_float4<256, kAligned, 4>;
}

static void launch(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd, float* dx,
                   float* dgamma, float* dbeta, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;  // a grid of 0 blocks is an error
  const bool aligned = aligned_for<float4>(x, dy, gamma, dx) && cols % 4 == 0;
  const auto kernel = aligned ? kernel_for<true>(cols) : kernel_for<false>(cols);
  const int block = cols <= 128 ? 32 : 256;
  const std::size_t bytes = column_bytes(cols);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const std::size_t height = ceil_div(std::max<std::size_t>(rows, 1), resident_blocks(kernel, block, bytes));
  const std::size_t slices = ceil_div(rows, height);  // none of them is empty
  float* partials = scratch<float>(2 * slices * cols);
  if (rows > 0) {
    kernel<<<static_cast<unsigned>(slices), block, bytes>>>(x, dy, gamma, mean, rstd, dx, partials, rows,
                                                            static_cast<unsigned>(cols), height, bytes > 0);
    CUDA_CHECK(cudaGetLastError());
  }
  add_partials(partials, dgamma, dbeta, slices, cols);
}

// A thread's additions, 5 levels of a warp's tree and 3 over the warps.
static std::size_t height(std::size_t cols) { return std::max<std::size_t>(ceil_div(cols, 256), 16) + 8; }

LADDER_STEP(LayerNormGrad, launch, height);
