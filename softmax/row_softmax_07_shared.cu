// Registers of a warp hold a row of 1024, and no more. Idea: a block for each row, and the row in shared memory, which
// has room for 57,000 floats on an H100. Each thread reads back only what it stored itself, so the copy needs no
// barrier; the one barrier left is between the warps' pairs and their merge, which every warp does for itself.
// More than 48 KB must be asked for: cudaFuncSetAttribute. Only what is longer than shared memory is read again.
// Expect: close to a copy for rows of 1024 up to some 26,000, of which two fit on a multiprocessor; then less, as one
// block's loading, waiting and storing do not overlap with another's.
// Next question: a row of 2^20 elements, and only 64 of them? (Split each over several blocks: step 08.)
#include "row_softmax.cuh"

constexpr int kBlock = 512;
constexpr std::size_t kChunk = 4 * kBlock;  // elements that the block loads at once, four for each thread

struct MaxSum {
  float max, sum;  // sum of exp(x - max); nothing seen yet is {-inf, 0}, one element x is {x, 1}
};

__device__ static MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max), shift = max == -INFINITY ? 0.0f : max;
  return {max, a.sum * expf(a.max - shift) + b.sum * expf(b.max - shift)};
}

// Merged over the warp, in every lane. All 32 lanes must call it.
__device__ static MaxSum warp_merge(MaxSum v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    v = merge(v, {__shfl_xor_sync(0xffffffff, v.max, offset), __shfl_xor_sync(0xffffffff, v.sum, offset)});
  }
  return v;
}

// Merged over the block, in every thread. All threads of the block must call it, once.
__device__ static MaxSum block_merge(MaxSum v) {
  __shared__ MaxSum warps[kBlock / 32];
  const unsigned lane = threadIdx.x % 32;
  v = warp_merge(v);
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_merge(lane < kBlock / 32 ? warps[lane] : MaxSum{-INFINITY, 0.0f});
}

__device__ static float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ static float4 exp4(float4 v, float shift, float factor) {
  return {expf(v.x - shift) * factor, expf(v.y - shift) * factor, expf(v.z - shift) * factor,
          expf(v.w - shift) * factor};
}

// Four elements, neighbours or kBlock apart, from x[j] on; -inf beyond the row's end.
template <bool vector>
__device__ static float4 load4(const float* x, std::size_t j, std::size_t cols) {
  const auto at = [&](std::size_t i) { return i < cols ? x[i] : -INFINITY; };
  if constexpr (!vector) return {at(j), at(j + kBlock), at(j + 2 * kBlock), at(j + 3 * kBlock)};
  const float none = -INFINITY;
  return j < cols ? *reinterpret_cast<const float4*>(x + j) : float4{none, none, none, none};
}

template <bool vector>
__device__ static void store4(float* y, std::size_t j, std::size_t cols, float4 v) {
  const auto put = [&](std::size_t i, float value) {
    if (i < cols) y[i] = value;
  };
  if constexpr (vector) {
    if (j < cols) __stcs(reinterpret_cast<float4*>(y + j), v);  // an assignment may be compiled to four stores
  } else {
    put(j, v.x), put(j + kBlock, v.y), put(j + 2 * kBlock, v.z), put(j + 3 * kBlock, v.w);
  }
}

// The first `chunks` chunks of the row stay in shared memory.
template <bool vector>
__global__ void row_softmax_shared(const float* __restrict__ x, float* __restrict__ y, std::size_t cols,
                                   unsigned chunks) {
  extern __shared__ float4 kept[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t mine = vector ? 4 * tid : tid;  // this thread's place in a chunk
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;

#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) kept[k * kBlock + tid] = load4<vector>(x, k * kChunk + mine, cols);
  float max = -INFINITY;
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(kept[k * kBlock + tid]));
  MaxSum s = {max, 0.0f};
  for (unsigned k = 0; k < chunks; ++k) {
    const float4 e = exp4(kept[k * kBlock + tid], max == -INFINITY ? 0.0f : max, 1.0f);
    s.sum += (e.x + e.y) + (e.z + e.w);
  }
  for (std::size_t j = chunks * kChunk + tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);

  const float inverse = 1.0f / s.sum;
  for (unsigned k = 0; k < chunks; ++k) {
    store4<vector>(y, k * kChunk + mine, cols, exp4(kept[k * kBlock + tid], s.max, inverse));
  }
  for (std::size_t j = chunks * kChunk + tid; j < cols; j += kBlock) y[j] = expf(x[j] - s.max) * inverse;
}

static std::size_t chunks_of(std::size_t cols) {
  static const std::size_t most = [] {
    int bytes = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    bytes -= 1 << 10;  // for `warps`
    for (const auto kernel : {row_softmax_shared<false>, row_softmax_shared<true>}) {
      CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    }
    return bytes / (kBlock * sizeof(float4));
  }();
  return std::min(ceil_div(cols, kChunk), most);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto chunks = static_cast<unsigned>(chunks_of(cols));
  const auto kernel = aligned_for<float4>(x, y) && cols % 4 == 0 ? row_softmax_shared<true> : row_softmax_shared<false>;
  kernel<<<static_cast<unsigned>(rows), kBlock, chunks * kBlock * sizeof(float4)>>>(x, y, cols, chunks);
  CUDA_CHECK(cudaGetLastError());
}

// exp, inverse and product above; below, exp and additions of what is kept, then exp, product and addition for each
// merge: those of the rest, then 5 and 5.
static std::size_t roundings(std::size_t cols) {
  const std::size_t chunks = chunks_of(cols), rest = cols - std::min(cols, chunks * kChunk);
  return 6 + 4 + 2 + chunks + 6 * (ceil_div(rest, kBlock) + 10);
}

LADDER_STEP(RowSoftmax, launch, roundings);
