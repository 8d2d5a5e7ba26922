// Problem:  with an odd number of rows, output rows start anywhere in a sector. Where two tiles meet, two blocks write
//           parts of one sector, which L2 must merge.
// Idea:     move the tile's border. A block writes each output row from a sector boundary on, up to 7 floats earlier,
//           and reads 7 more input rows. Aligned shapes: step 09's way, tuned. Few rows or columns: transpose_thin.cuh.
// Expect:   1.1 to 1.4x step 09: every sector is written whole by 16-byte stores, and all loads of a thread are in
//           flight at once.
// Measured: 1.35x step 09, 1.07x cuBLAS at 8192x8192 (H200); 1.16x, 1.01x (H100).
// Next:     fewer threads fit on an SM than in step 09, and it is faster. Why? (Bytes in flight count: few threads with
//           all loads in flight beat many that wait after the first.)
#include "transpose_thin.cuh"

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kLoads = kTile * kTile / 4 / kBlock;  // float4 per thread
constexpr int kLanes = kTile / 4;       // lanes per row of the tile: 16, so a warp moves two pieces of 256 bytes
constexpr int kRows = kBlock / kLanes;  // rows that a block moves at a time, in float4
constexpr int kBlocks = 4;              // per SM; 5 would fit, and are slower

constexpr int kSector = 8;             // floats
constexpr int kHalo = kSector - 1;     // rows above the tile, for the column with the largest shift
constexpr int kTall = 96;              // rows of a shifted tile: more than kTile, for each reads kHalo more
constexpr int kStep = kBlock / kTile;  // rows that a block reads at a time, one float per thread
constexpr int kReads = ceil_div(kTall + kHalo, kStep);

// rows % 4 == 0, cols % 4 == 0, in and out multiples of 16 bytes. Tiles are numbered down the columns: blocks that run
// together write neighbouring pieces of the same output rows. The 1 in __launch_bounds__ (blocks per SM) leaves nvcc
// enough registers to have all loads in flight.
__global__ void __launch_bounds__(kBlock, 1)
    transpose_tuned_aligned(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols,
                            unsigned tiles_y) {
  __shared__ float tile[kTile][kTile + 1];
  const std::size_t col0 = std::size_t{blockIdx.x / tiles_y} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.x % tiles_y} * kTile;
  const int x = threadIdx.x % kLanes * 4, y = threadIdx.x / kLanes;

  // load
  float4 v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const std::size_t row = row0 + y + k * kRows, col = col0 + x;
    if (row < rows && col < cols) v[k] = *reinterpret_cast<const float4*>(&in[row * cols + col]);
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    float* to = &tile[y + k * kRows][x];
    to[0] = v[k].x, to[1] = v[k].y, to[2] = v[k].z, to[3] = v[k].w;
  }
  __syncthreads();
  // store
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = x, c = y + k * kRows;  // x runs down the tile
    if (row0 + r < rows && col0 + c < cols) {
      // __stcs stays one 16-byte store; nvcc splits a plain float4 store of gathered words into four
      __stcs(reinterpret_cast<float4*>(&out[(col0 + c) * rows + row0 + r]),
             make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
    }
  }
}

// Any shape. Output row c is written from a sector boundary on, `shift` floats before the tile of an aligned matrix.
// out_offset: floats from the last sector boundary to `out`.
__global__ void __launch_bounds__(kBlock, 1)
    transpose_tuned_shifted(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                            unsigned tiles_y, unsigned out_offset) {
  __shared__ float tile[kTall + kHalo][kTile + 1];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const long long left = static_cast<long long>(blockIdx.x / tiles_y) * kTile;
  const long long top = static_cast<long long>(blockIdx.x % tiles_y) * kTall - kHalo;  // row of tile[0]
  // The part of the tile within the matrix: rows first to last - 1, columns 0 to width - 1.
  const int first = top < 0 ? static_cast<int>(-top) : 0;
  const int last = static_cast<int>(min(rows - top, static_cast<long long>(kTall + kHalo)));
  const int width = static_cast<int>(min(cols - left, static_cast<long long>(kTile)));

  const int x = tid % kTile, y = tid / kTile;
  const long long from = (top + y) * cols + left + x, step = kStep * cols;
  // load: the tile and the rows above it
  float v[kReads];
#pragma unroll
  for (int k = 0; k < kReads; ++k) {
    const int r = y + k * kStep;
    v[k] = r >= first && r < last && x < width ? in[from + k * step] : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < kReads; ++k) {
    const int r = y + k * kStep;
    if (r < kTall + kHalo) tile[r][x] = v[k];
  }
  __syncthreads();
  // store: whole sectors in float4, the rest at the matrix's border by floats
#pragma unroll
  for (int k = 0; k < kTall * kTile / 4 / kBlock; ++k) {
    const int part = warp + k * (kBlock / 32);  // 32 rows and 4 columns of the tile
    const int c = lane / 8 + part / (kTall / 32) * 4;
    const unsigned shift = (out_offset + static_cast<unsigned>(left + c) * static_cast<unsigned>(rows)) % kSector;
    const int r = lane % 8 * 4 + part % (kTall / 32) * 32 + kHalo - static_cast<int>(shift);
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

// Dynamic shared memory that the kernel does not use: with it and the tile, no more than kBlocks blocks fit on an SM.
static unsigned padding() {
  constexpr int tile = kTile * (kTile + 1) * sizeof(float), kilobyte = 1 << 10;
  const int share = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / (kBlocks + 1);
  const int room = share - device_attribute(cudaDevAttrReservedSharedMemoryPerBlock) - tile;
  return room < 0 ? 0 : (room / kilobyte + 1) * kilobyte;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  using transpose_shapes::Path;
  const Path path = transpose_shapes::path(rows, cols, aligned_for<float4>(in, out) && rows % 4 == 0 && cols % 4 == 0);
  if (path == Path::thin) return transpose_thin::launch(in, out, rows, cols);
  const unsigned tiles_x = ceil_div(cols, kTile);
  if (path == Path::aligned) {
    const unsigned tiles_y = ceil_div(rows, kTile);
    transpose_tuned_aligned<<<tiles_x * tiles_y, kBlock, padding()>>>(in, out, rows, cols, tiles_y);
  } else {
    const auto out_offset = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(out) / sizeof(float) % kSector);
    const unsigned tiles_y = ceil_div(rows + kHalo, kTall);
    transpose_tuned_shifted<<<tiles_x * tiles_y, kBlock>>>(in, out, rows, cols, tiles_y, out_offset);
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
