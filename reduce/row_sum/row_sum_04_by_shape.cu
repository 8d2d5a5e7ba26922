// Problem:  steps 02 and 03 are each fastest on some shapes and slow on others.
// Idea:     eight settings of one kernel, by row length: 1 to 32 threads per row up to 1024 columns, then a block. Few
//           long rows are split over several blocks, whose sums form a matrix again. Each row's head is peeled.
// Expect:   at least 1.0x the best of steps 01 to 03 on every shape; most on few long rows, where half the SMs idled.
// Measured: 1.00x step 03, 1.00x CUB at 16384x4096 (H200); 1.00x, 0.99x (H100).
// Next:     which part of the rule changes on another GPU? (Its limits: they follow the number of SMs.)
#include "row_sum.cuh"

// One row per block if a row has more than a warp; otherwise as many rows as fit in 256 threads.
constexpr unsigned block_size(unsigned threads) { return threads > 32 ? threads : 256; }

template <bool kEvictFirst>
__device__ static float4 load4(const float* p) {
  const float4* p4 = reinterpret_cast<const float4*>(p);
  return kEvictFirst ? __ldcs(p4) : *p4;
}

// kThreads threads add slice blockIdx.y of a row, of `slice` <= 2^31 elements, into out[row * gridDim.y + blockIdx.y].
// kLoads: float4 in flight per thread. kEvictFirst: read with __ldcs.
template <unsigned kThreads, unsigned kLoads, bool kEvictFirst>
__global__ void __launch_bounds__(kThreads > 32 ? kThreads : 256)
    row_sum_by_shape(const float* __restrict__ x, float* __restrict__ out, std::size_t rows, std::size_t cols,
                     unsigned slice) {
  const unsigned lane = threadIdx.x % kThreads, group = threadIdx.x / kThreads, groups = blockDim.x / kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * groups + group;
  const std::size_t begin = std::size_t{blockIdx.y} * slice;
  const unsigned length = row < rows && begin < cols ? static_cast<unsigned>(min(std::size_t{slice}, cols - begin)) : 0;
  const float* from = x + row * cols + begin;
  const unsigned head = kThreads == 1 ? length : min(length, floats_to_boundary(from));
  const unsigned tail = head + (length - head) / 4 * 4;  // float4 from head to tail are aligned

  // load: head and tail, up to 3 floats each, and kLoads float4 at a time; a single thread adds single floats
  float sum = 0.0f;
  unsigned c = lane;
  for (; c < head; c += kThreads) sum += from[c];
  for (c = tail + lane; c < length; c += kThreads) sum += from[c];
  c = head + 4 * lane;
  for (; c + 4 * kThreads * (kLoads - 1) < tail; c += 4 * kThreads * kLoads) {
    float4 v[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) v[k] = load4<kEvictFirst>(from + c + 4 * kThreads * k);
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }
  if constexpr (kLoads > 1) {  // the remainder: fewer than kLoads, also all in flight
    float4 v[kLoads - 1];
#pragma unroll
    for (unsigned k = 0; k < kLoads - 1; ++k) {
      const unsigned at = c + 4 * kThreads * k;
      v[k] = at < tail ? load4<kEvictFirst>(from + at) : float4{0.0f, 0.0f, 0.0f, 0.0f};
    }
#pragma unroll
    for (unsigned k = 0; k < kLoads - 1; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }

  // reduce over the lanes of the row, then over its warps
#pragma unroll
  for (unsigned offset = (kThreads < 32 ? kThreads : 32) / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  }
  if (kThreads > 32) {
    constexpr unsigned warps = (kThreads + 31) / 32;
    __shared__ float warp_sums[warps];  // here the block has one row
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < warps ? warp_sums[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32) {
#pragma unroll
      for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
  }
  // store
  if (lane == 0 && row < rows) out[row * gridDim.y + blockIdx.y] = sum;
}

struct Shape {
  std::size_t longest;  // the longest row for this setting
  unsigned threads;
  decltype(&row_sum_by_shape<4, 1, false>) kernel[2];  // plain loads, evict-first loads
};

template <unsigned kThreads, unsigned kLoads>
static constexpr Shape shape(std::size_t longest) {
  return {longest, kThreads, {row_sum_by_shape<kThreads, kLoads, false>, row_sum_by_shape<kThreads, kLoads, true>}};
}

static const Shape& pick(std::size_t cols) {
  static const Shape shapes[] = {shape<1, 1>(20),      shape<4, 1>(64),         shape<8, 4>(192),
                                 shape<16, 2>(384),    shape<32, 4>(1024),      shape<128, 4>(3072),
                                 shape<256, 4>(16384), shape<1024, 4>(SIZE_MAX)};
  return *std::find_if(std::begin(shapes), std::end(shapes), [&](const Shape& s) { return cols <= s.longest; });
}

// Returns the slices per row: enough blocks for the GPU if slices stay long, and no slice longer than 2^31.
static unsigned slice_count(std::size_t rows, std::size_t cols) {
  const std::size_t wanted = rows < 4 * static_cast<std::size_t>(sm_count()) ? cols / 16384 : 1;
  return static_cast<unsigned>(std::clamp<std::size_t>(std::max(wanted, cols >> 30), 1, 65535));
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  if (cols == 1) {  // the sums are x itself, so copy it
    CUDA_CHECK(cudaMemcpyAsync(out, x, rows * sizeof(float), cudaMemcpyDeviceToDevice));
    return;
  }
  const unsigned slices = slice_count(rows, cols);
  const auto slice = static_cast<unsigned>(4 * ceil_div(cols, std::size_t{4} * slices));
  const Shape& shape = pick(slice);
  float* partials = slices > 1 ? scratch<float>(rows * slices) : out;
  const unsigned block = block_size(shape.threads);
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, std::size_t{block / shape.threads})), slices);
  const auto kernel = shape.kernel[evict_first_pays(2 * rows * cols * sizeof(float))];
  kernel<<<grid, block>>>(x, partials, rows, cols, slice);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  const Shape& second = pick(std::max(slices, 32u));  // few rows: one thread per row would be slow
  const unsigned second_block = block_size(second.threads);
  const dim3 second_grid(static_cast<unsigned>(ceil_div(rows, std::size_t{second_block / second.threads})));
  second.kernel[0]<<<second_grid, second_block>>>(partials, out, rows, slices, slices);
  CUDA_CHECK(cudaGetLastError());
}

// A thread: 2 levels in a float4, its float4, head and tail; at most 10 levels of tree; the same for the slices.
static std::size_t height(std::size_t rows, std::size_t cols) {
  const auto levels = [](std::size_t length) {
    const unsigned threads = pick(length).threads;
    return threads == 1 ? length : ceil_div(length, std::size_t{4} * threads) + 4 + 10;
  };
  const std::size_t slices = slice_count(rows, cols), slice = 4 * ceil_div(cols, 4 * slices);
  return levels(slice) + levels(std::max<std::size_t>(slices, 32));
}

LADDER_STEP(RowSum, launch, height);
