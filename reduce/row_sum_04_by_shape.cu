// Steps 02 and 03 each win on some shapes. Idea: one kernel, compiled for five kinds of rows, and a rule that picks.
//   Rows up to 512: 4, 8 or 32 threads, as many as find a float4 or four, and several groups in a warp.
//   Longer rows: a block for each, of 256 threads with four float4 in flight, or of 1024.
//   Few long rows: several blocks for each. Their sums are a matrix again, with short rows: the same function sums it.
//   Streaming: up to 2^26 elements x is read with __ldcs (evict first), which leaves in L2 what others wrote there.
// The sizes are template parameters, so that loops unroll and all loads of a round go out before the first is used.
// Expect: the best of all steps on every shape, or better.
// Next question: how does the rule look on another GPU? (The same; its borders move with the number of
// multiprocessors.)
#include "row_sum.cuh"

constexpr unsigned kMinBlock = 256;

template <bool streaming>
__device__ static float4 load4(const float* p) {
  const float4* p4 = reinterpret_cast<const float4*>(p);
  return streaming ? __ldcs(p4) : *p4;
}

// A group of `threads` threads takes a row, or a piece of one: blockIdx.y is the piece, the elements from blockIdx.y *
// piece on; piece is a multiple of 4 and at most 2^31. The sum goes to out[row * pieces + piece].
template <unsigned threads, unsigned loads, bool streaming>
__global__ void __launch_bounds__(threads < kMinBlock ? kMinBlock : threads)
    row_sum_by_shape(const float* __restrict__ x, float* __restrict__ out, std::size_t rows, std::size_t cols,
                     bool aligned, unsigned piece) {
  const unsigned lane = threadIdx.x % threads, group = threadIdx.x / threads, groups = blockDim.x / threads;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * groups + group;
  const std::size_t begin = static_cast<std::size_t>(blockIdx.y) * piece;
  const unsigned length = row < rows && begin < cols ? static_cast<unsigned>(min(std::size_t{piece}, cols - begin)) : 0;
  const unsigned vectors = aligned ? length / 4 * 4 : 0;  // elements that are read as float4
  const float* from = x + row * cols + begin;

  float sum = 0.0f;
  unsigned c = 4 * lane;
  for (; c + 4 * threads * (loads - 1) < vectors; c += 4 * threads * loads) {
    float4 v[loads];
#pragma unroll
    for (unsigned k = 0; k < loads; ++k) v[k] = load4<streaming>(from + c + 4 * threads * k);
#pragma unroll
    for (unsigned k = 0; k < loads; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }
  for (; c < vectors; c += 4 * threads) {
    const float4 v = load4<streaming>(from + c);
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (c = vectors + lane; c < length; c += threads) sum += from[c];

    // Over the lanes of the group; then, if it has several warps, over these.
#pragma unroll
  for (unsigned offset = (threads < 32 ? threads : 32) / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  }
  if (threads > 32) {
    constexpr unsigned warps = (threads + 31) / 32;
    __shared__ float warp_sums[warps];  // the block is one group then
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < warps ? warp_sums[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32) {
#pragma unroll
      for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
  }
  if (lane == 0 && row < rows) out[row * gridDim.y + blockIdx.y] = sum;
}

struct Shape {
  std::size_t longest;  // cols for which it is meant
  unsigned threads;
  decltype(&row_sum_by_shape<4, 1, false>) kernel[2];  // plain, streaming
};

template <unsigned threads, unsigned loads>
static constexpr Shape shape(std::size_t longest) {
  return {longest, threads, {row_sum_by_shape<threads, loads, false>, row_sum_by_shape<threads, loads, true>}};
}

static const Shape& pick(std::size_t cols) {
  static const Shape shapes[] = {shape<4, 1>(16), shape<8, 4>(128), shape<32, 4>(512), shape<256, 4>(8192),
                                 shape<1024, 4>(SIZE_MAX)};
  return *std::find_if(std::begin(shapes), std::end(shapes), [&](const Shape& s) { return cols <= s.longest; });
}

// How many pieces a row is cut into: enough blocks for the GPU, if the pieces stay long, and none longer than 2^31.
static unsigned piece_count(std::size_t rows, std::size_t cols) {
  const std::size_t wanted = rows < 4 * static_cast<std::size_t>(sm_count()) ? cols / 16384 : 1;
  return static_cast<unsigned>(std::clamp<std::size_t>(std::max(wanted, cols >> 30), 1, 65535));
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const unsigned pieces = piece_count(rows, cols);
  const auto piece = static_cast<unsigned>(4 * ceil_div(cols, std::size_t{4} * pieces));
  const Shape& shape = pick(piece);
  float* sums = pieces > 1 ? scratch<float>(rows * pieces) : out;
  const unsigned block = std::max(shape.threads, kMinBlock);
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, std::size_t{block / shape.threads})), pieces);
  const bool aligned = aligned_for<float4>(x) && cols % 4 == 0;
  const auto kernel = shape.kernel[rows * cols <= std::size_t{1} << 26];
  kernel<<<grid, block>>>(x, sums, rows, cols, aligned, piece);
  CUDA_CHECK(cudaGetLastError());
  if (pieces == 1) return;
  const Shape& rest = pick(pieces);
  const unsigned rest_block = std::max(rest.threads, kMinBlock);
  const dim3 rest_grid(static_cast<unsigned>(ceil_div(rows, std::size_t{rest_block / rest.threads})));
  rest.kernel[0]<<<rest_grid, rest_block>>>(sums, out, rows, pieces, pieces % 4 == 0, 4 * ceil_div(pieces, 4u));
  CUDA_CHECK(cudaGetLastError());
}

// A thread's chain, longest if the rows are not aligned, at most 10 levels of tree; the same for the pieces.
static std::size_t height(std::size_t rows, std::size_t cols) {
  const std::size_t pieces = piece_count(rows, cols), piece = 4 * ceil_div(cols, 4 * pieces);
  return ceil_div(piece, std::size_t{pick(piece).threads}) + 10 + ceil_div(pieces, std::size_t{pick(pieces).threads}) +
         10;
}

LADDER_STEP(RowSum, launch, height);
