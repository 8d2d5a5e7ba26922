// Step 09 has no answer to odd shapes. If rows is odd, each row of the output starts elsewhere within a 32-byte sector,
// and where two tiles meet, each block writes a part of one; L2 must merge the parts. Idea: move the tile's border. In
// output row c the piece that a block writes begins at a sector, `shift` floats earlier than in an aligned matrix. The
// shift depends on c, so the block reads the 7 input rows above its tile too; L2 has them, for they are the
// neighbour's. Now every sector is written whole, and in float4. Reads stay as they are, scalar: a sector read in two
// parts comes from DRAM once. Aligned matrices go step 09's way, with five changes that its machine code asks for:
//   __launch_bounds__(kBlock, 1): without the 1, nvcc spares registers, and some loads wait for others to be done;
//   __stcs: nvcc may split a plain float4 store of gathered words into four stores of 4 bytes, but never this one;
//   16 lanes in a row: a warp moves 2 pieces of 256 bytes, not 4 of 128. It costs 2-way bank conflicts, which hide;
//   tiles numbered down the columns: blocks that run together write long pieces of the same output rows;
//   4 blocks on an SM, by shared memory that nobody uses: a fifth only mixes more rows into DRAM's queues.
// Expect: a good tenth over step 09 where that was fast, a third on every other shape.
// Next question: fewer threads fit on an SM than in step 09, and it is faster. Why? (Bytes in flight count: a few
// threads with all their loads under way beat many that wait after the first.)
#include "transpose.cuh"

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kVectors = kTile * kTile / 4 / kBlock;  // float4 per thread
constexpr int kLanes = kTile / 4;                     // float4 in a row of the tile
constexpr int kRows = kBlock / kLanes;                // rows that a block moves at a time, in float4
constexpr int kBlocks = 4;                            // on an SM

constexpr int kSector = 8;             // floats
constexpr int kHalo = kSector - 1;     // rows above the tile, wanted by the most shifted column
constexpr int kStep = kBlock / kTile;  // rows that a block reads at a time, one float per thread
constexpr int kReads = ceil_div(kTile + kHalo, kStep);

// rows % 4 == 0, cols % 4 == 0, in and out multiples of 16 bytes.
__global__ void __launch_bounds__(kBlock, 1)
    transpose_tuned_aligned(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols,
                            unsigned tiles_y) {
  __shared__ float tile[kTile][kTile + 1];
  const std::size_t col0 = static_cast<std::size_t>(blockIdx.x / tiles_y) * kTile;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x % tiles_y) * kTile;
  const int x = threadIdx.x % kLanes * 4, y = threadIdx.x / kLanes;

  float4 v[kVectors];
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const std::size_t row = row0 + y + k * kRows, col = col0 + x;
    if (row < rows && col < cols) v[k] = *reinterpret_cast<const float4*>(&in[row * cols + col]);
  }
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    float* to = &tile[y + k * kRows][x];
    to[0] = v[k].x, to[1] = v[k].y, to[2] = v[k].z, to[3] = v[k].w;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int r = x, c = y + k * kRows;  // now x runs down the tile
    if (row0 + r < rows && col0 + c < cols) {
      __stcs(reinterpret_cast<float4*>(&out[(col0 + c) * rows + row0 + r]),
             make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
    }
  }
}

// Any shape. `past`: floats from the last sector boundary to `out`.
__global__ void __launch_bounds__(kBlock, 1)
    transpose_tuned_shifted(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                            unsigned tiles_y, unsigned past) {
  __shared__ float tile[kTile + kHalo][kTile + 1];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const long long left = static_cast<long long>(blockIdx.x / tiles_y) * kTile;
  const long long top = static_cast<long long>(blockIdx.x % tiles_y) * kTile - kHalo;  // row of tile[0]
  // What of the tile lies within the matrix: rows first to last - 1, columns 0 to width - 1.
  const int first = top < 0 ? static_cast<int>(-top) : 0;
  const int last = static_cast<int>(min(rows - top, static_cast<long long>(kTile + kHalo)));
  const int width = static_cast<int>(min(cols - left, static_cast<long long>(kTile)));

  const int x = tid % kTile, y = tid / kTile;
  const long long from = (top + y) * cols + left + x, step = kStep * cols;
  float v[kReads];
#pragma unroll
  for (int k = 0; k < kReads; ++k) {
    const int r = y + k * kStep;
    v[k] = r >= first && r < last && x < width ? in[from + k * step] : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < kReads; ++k) {
    const int r = y + k * kStep;
    if (r < kTile + kHalo) tile[r][x] = v[k];
  }
  __syncthreads();

#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int c = lane / 8 + warp / 2 * 4 + k * kRows;
    const unsigned shift = (past + static_cast<unsigned>(left + c) * static_cast<unsigned>(rows)) % kSector;
    const int r = lane % 8 * 4 + warp % 2 * 32 + kHalo - static_cast<int>(shift);
    float* to = out + (left + c) * rows + top + r;
    if (c < width && r >= first && r + 4 <= last) {
      *reinterpret_cast<float4*>(to) = make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]);
    } else if (c < width) {
      for (int j = 0; j < 4; ++j) {
        if (r + j >= first && r + j < last) to[j] = tile[r + j][c];
      }
    }
  }
}

// Dynamic shared memory that the kernel does not use: with it and the tile, kBlocks + 1 blocks do not fit on an SM.
static unsigned padding() {
  constexpr int tile = kTile * (kTile + 1) * sizeof(float), kilobyte = 1 << 10;
  const int share = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / (kBlocks + 1);
  const int room = share - device_attribute(cudaDevAttrReservedSharedMemoryPerBlock) - tile;
  return room < 0 ? 0 : (room / kilobyte + 1) * kilobyte;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  if (aligned_for<float4>(in, out) && rows % 4 == 0 && cols % 4 == 0) {
    const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
    transpose_tuned_aligned<<<tiles_x * tiles_y, kBlock, padding()>>>(in, out, rows, cols, tiles_y);
  } else {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(out) / sizeof(float) % kSector);
    const auto tiles_y = static_cast<unsigned>(ceil_div(rows + kHalo, kTile));
    transpose_tuned_shifted<<<tiles_x * tiles_y, kBlock>>>(in, out, static_cast<long long>(rows),
                                                           static_cast<long long>(cols), tiles_y, past);
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
