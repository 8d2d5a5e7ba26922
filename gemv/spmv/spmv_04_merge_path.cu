// Problem:  work by rows is as uneven as the rows are: with one dense row, one warp does nearly everything.
// Idea:     the merge path. Consuming a nonzero is a move, ending a row another. Each thread makes 16 of the rows + nnz
//           moves, from a position found by binary search. A second kernel adds the carries, sums of unfinished rows.
// Expect:   0.3 to 0.8x step 03 on equal rows: a thread's nonzeros are neighbours, so a request touches 32 sectors
//           again. 1 to 3x step 03 on skewed ones, where all threads still do the same work.
// Measured: 0.76x step 03, 0.68x cuSPARSE at 2^20x2^20x32 (H200).
// Next:     how can lanes read neighbouring nonzeros, while each thread still makes its own moves?
#include "merge_path.cuh"
#include "spmv.cuh"

constexpr int kBlock = 256, kSteps = 16;

__global__ void spmv_merge_path(const int* __restrict__ ends, const int* __restrict__ columns,
                                const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                Carry* __restrict__ carries, std::size_t rows, std::size_t path, std::size_t walks) {
  const std::size_t walk = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (walk >= walks) return;
  const std::size_t first = walk * kSteps;
  PathPlace at = place_on_path(ends, static_cast<int>(rows), first);
  float sum = 0.0f;
  for (std::size_t step = first; step < min(first + kSteps, path); ++step) {
    if (at.element < ends[at.row]) {
      sum += values[at.element] * x[columns[at.element]];
      ++at.element;
    } else {
      y[at.row++] = sum;  // incomplete if the row began in another walk: a carry is missing
      sum = 0.0f;
    }
  }
  carries[walk] = {at.row, sum};
}

// Adds the carries to y. Those of a row are neighbours: the thread with the first one adds them all.
__global__ void spmv_add_carries(const Carry* __restrict__ carries, float* __restrict__ y, std::size_t rows,
                                 std::size_t walks) {
  std::size_t walk = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (walk >= walks) return;
  const int row = carries[walk].row;
  if (static_cast<std::size_t>(row) >= rows || (walk > 0 && carries[walk - 1].row == row)) return;
  float sum = 0.0f;
  for (; walk < walks && carries[walk].row == row; ++walk) sum += carries[walk].sum;
  y[row] += sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t nnz) {
  if (rows == 0) return;
  const std::size_t path = rows + nnz, walks = ceil_div(path, kSteps);
  Carry* carries = scratch<Carry>(walks);
  const auto grid = static_cast<unsigned>(ceil_div(walks, kBlock));
  spmv_merge_path<<<grid, kBlock>>>(offsets + 1, columns, values, x, y, carries, rows, path, walks);
  CUDA_CHECK(cudaGetLastError());
  spmv_add_carries<<<grid, kBlock>>>(carries, y, rows, walks);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
