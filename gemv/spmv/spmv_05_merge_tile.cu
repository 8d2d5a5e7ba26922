// Problem:  neighbouring lanes of step 04 are 16 moves apart: loads aren't coalesced, and each thread leaves a carry.
// Idea:     a block makes 1792 moves. It loads their nonzeros coalesced and keeps the products in shared memory, where
//           each thread makes 7 moves. A segmented scan adds the threads' carries, which leaves one per block.
// Expect:   1.2 to 1.6x step 04 and 0.75 to 1.0x cuSPARSE where the gathers go to L2, alike for equal and skewed rows.
//           Where L1 holds x, 0.8 to 1.1x step 04, whose threads wait for no barrier.
// Measured: 1.30x step 04, 0.88x cuSPARSE at 2^20x2^20x32 (H200).
// Next:     what limits it now? (The gathers: each takes a 32-byte sector for 4 bytes. The order of the columns decides
//           how often L1 and L2 have it.)
#include "block_reduce.cuh"
#include "merge_path.cuh"
#include "spmv.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;
constexpr int kSteps = 7;  // odd, so that the lanes of a warp seldom meet in a bank
constexpr int kTile = kBlock * kSteps;

// An element of a segmented scan: whether a row has ended, and the sum since the last end of a row.
struct Segment {
  bool ended;
  float sum;
};
__device__ static Segment join(Segment left, Segment right) {
  return {left.ended || right.ended, right.ended ? right.sum : left.sum + right.sum};
}
__device__ static Segment from_lane_below(Segment s, int distance) {
  return {__shfl_up_sync(0xffffffff, int{s.ended}, distance) != 0, __shfl_up_sync(0xffffffff, s.sum, distance)};
}

// Returns the segment of all threads before this one. All threads must call it, once. In thread
// kBlock - 1, `all` is the segment of the whole block.
__device__ static Segment scan_segments(Segment own, Segment& all) {
  __shared__ Segment warps[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Segment here = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const Segment left = from_lane_below(here, offset);
    if (lane >= offset) here = join(left, here);
  }
  if (lane == 31) warps[warp] = here;
  const Segment below = from_lane_below(here, 1);
  __syncthreads();
  Segment before{false, 0.0f};
  for (int w = 0; w < warp; ++w) before = join(before, warps[w]);
  all = join(before, here);
  return lane > 0 ? join(before, below) : before;
}

__global__ void spmv_merge_tile(const int* __restrict__ ends, const int* __restrict__ columns,
                                const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                Carry* __restrict__ carries, std::size_t rows, std::size_t path) {
  __shared__ float products[kTile];
  __shared__ int tile_ends[kTile + 1];
  __shared__ PathPlace bounds[2];
  const int t = threadIdx.x;
  const std::size_t first = std::size_t{blockIdx.x} * kTile;
  if (t < 2) bounds[t] = place_on_path(ends, static_cast<int>(rows), min(first + t * kTile, path));
  __syncthreads();
  const PathPlace from = bounds[0], to = bounds[1];
  const int tile_rows = to.row - from.row, elements = to.element - from.element;

  // load: products, and the rows' ends counted from the tile's first nonzero
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    const int e = k * kBlock + t;
    if (e < elements) products[e] = values[from.element + e] * x[columns[from.element + e]];
  }
  for (int r = t; r < tile_rows; r += kBlock) tile_ends[r] = ends[from.row + r] - from.element;
  if (t == 0) tile_ends[tile_rows] = kTile;  // the unfinished row
  __syncthreads();

  // make kSteps moves
  PathPlace at = place_on_path(tile_ends, tile_rows, min(t * kSteps, tile_rows + elements));
  int first_row = -1;
  float first_sum = 0.0f, sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    if (t * kSteps + k >= tile_rows + elements) continue;
    if (at.element < tile_ends[at.row]) {
      sum += products[at.element++];
    } else {
      if (first_row < 0) {
        first_row = at.row, first_sum = sum;  // may lack the sums of earlier threads
      } else {
        y[from.row + at.row] = sum;
      }
      ++at.row;
      sum = 0.0f;
    }
  }

  // add the carries of earlier threads, and store the block's own
  Segment all;
  const Segment before = scan_segments({first_row >= 0, sum}, all);
  if (first_row >= 0) y[from.row + first_row] = before.sum + first_sum;
  if (t == kBlock - 1) carries[blockIdx.x] = {to.row, all.sum};
}

// As in step 04, but a warp adds the carries of a row: one row may have them all.
__global__ void spmv_add_tile_carries(const Carry* __restrict__ carries, float* __restrict__ y, std::size_t rows,
                                      std::size_t tiles) {
  const std::size_t tile = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (tile >= tiles) return;  // the whole warp returns, here and below
  const int row = carries[tile].row;
  if (static_cast<std::size_t>(row) >= rows || (tile > 0 && carries[tile - 1].row == row)) return;
  float sum = 0.0f;
  for (std::size_t other = tile + lane; other < tiles && carries[other].row == row; other += 32) {
    sum += carries[other].sum;
  }
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] += sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t nnz) {
  if (rows == 0) return;
  const std::size_t path = rows + nnz, tiles = ceil_div(path, kTile);
  Carry* carries = scratch<Carry>(tiles);
  spmv_merge_tile<<<static_cast<unsigned>(tiles), kBlock>>>(offsets + 1, columns, values, x, y, carries, rows, path);
  CUDA_CHECK(cudaGetLastError());
  const auto grid = static_cast<unsigned>(ceil_div(tiles, kWarps));
  spmv_add_tile_carries<<<grid, kBlock>>>(carries, y, rows, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
