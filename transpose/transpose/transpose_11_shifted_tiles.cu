// Problem:  with an odd number of rows, output rows start inside a sector, and L2 must merge what two blocks write.
// Idea:     shift the tile's border. A block writes each output row from a sector boundary on, up to 7 floats earlier,
//           and reads 7 more input rows. Aligned shapes take step 10.
// Expect:   1.1 to 1.4x step 10 at 8191x8193: every sector is written whole, and all loads of a thread are in flight.
// Measured: 1.20x step 10, 1.11x cuBLAS at 8191x8193 (H200).
// Next:     why shift stores, not loads? (DRAM reads a shared sector once; a sector that two blocks write must be
//           merged.)
#include "transpose_10_wide_stores.cu"  // kTile = 64, kBlock = 256

constexpr int kSector = 8;             // floats
constexpr int kHalo = kSector - 1;     // rows above the tile, for the column with the largest shift
constexpr int kTall = 96;              // rows of a tile; each tile reads kHalo more
constexpr int kStep = kBlock / kTile;  // rows that a block reads at a time, one float per thread
constexpr int kReads = ceil_div(kTall + kHalo, kStep);

// Writes output row c from a sector boundary on, `shift` floats early. out_offset: `out` in floats, modulo kSector.
__global__ void __launch_bounds__(kBlock, 1)
    transpose_shifted_tiles(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                            unsigned tiles_y, unsigned out_offset) {
  __shared__ float tile[kTall + kHalo][kTile + 1];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const long long left = static_cast<long long>(blockIdx.x / tiles_y) * kTile;
  const long long top = static_cast<long long>(blockIdx.x % tiles_y) * kTall - kHalo;  // row of tile[0]
  // inside the matrix: rows first to last - 1 of the tile, columns 0 to width - 1
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
      // one 16-byte store even without __stcs (SASS, nvcc 13.0, sm_75 to sm_90); nvcc splits step 09's
      *reinterpret_cast<float4*>(to) = make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]);
    } else if (c < width) {
      for (int j = 0; j < 4; ++j) {
        if (r + j >= first && r + j < last) to[j] = tile[r + j][c];
      }
    }
  }
}

static void launch_shifted_tiles(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  if (has_aligned_rows(in, out, rows, cols)) return launch_wide_stores(in, out, rows, cols);
  const auto out_offset = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(out) / sizeof(float) % kSector);
  const unsigned tiles_x = ceil_div(cols, kTile);
  const unsigned tiles_y = ceil_div(rows + kHalo, kTall);
  transpose_shifted_tiles<<<tiles_x * tiles_y, kBlock>>>(in, out, rows, cols, tiles_y, out_offset);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch_shifted_tiles);
