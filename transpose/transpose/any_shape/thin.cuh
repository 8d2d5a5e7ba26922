// Transposes matrices of few rows or few columns. A tile spans the whole shorter side and a piece of the longer one.
#pragma once
#include "../transpose.cuh"

namespace transpose_thin {

constexpr unsigned kBlock = 256, kWarps = kBlock / 32;
constexpr unsigned kElements = 8192;              // per tile, at most
constexpr std::size_t kMostFew = kElements / 32;  // longest shorter side
constexpr unsigned kAtOnce = 16;                  // floats in flight per thread

// Returns the words of padding after each 32 words. One word removes the 32-way conflict of a stride of 32; odd strides
// then take a second wavefront or more. It turns a stride of 31 into 32, so multiples of 31 get three words.
constexpr unsigned kMostPadding = 3;
__device__ inline unsigned padding_for(unsigned few) { return few % 31 == 0 ? kMostPadding : 1; }

// kFewRows: `in` is few x length and `out` is length x few; otherwise the reverse. A block handles 2^log_width of the
// length and all of `few`. In the matrix with short rows this is one contiguous piece, moved as float4; in the other it
// is a part of each row, moved as floats.
template <bool kFewRows>
__global__ void __launch_bounds__(kBlock) transpose_thin(const float* __restrict__ in, float* __restrict__ out,
                                                         unsigned few, std::size_t length, unsigned log_width) {
  __shared__ float tile[kElements + (kElements / 32 + 1) * kMostPadding + 4];
  const unsigned padding = padding_for(few);
  const auto padded = [=](unsigned i) { return i + i / 32 * padding; };
  const unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const std::size_t first = std::size_t{blockIdx.x} << log_width;
  const auto width = static_cast<unsigned>(min(length - first, std::size_t{1} << log_width));
  // the piece starts `past` floats after a 16-byte boundary, in global memory and in the tile
  const float* const piece = (kFewRows ? out : in) + first * few;
  const unsigned past = reinterpret_cast<std::uintptr_t>(piece) / sizeof(float) % 4, end = past + width * few;

  // calls body(k, index in the matrix with long rows, index in the tile) for kAtOnce parts of 32 floats of this warp,
  // starting at part `from`; `checked`: skips elements outside the matrix
  const auto for_parts = [&](unsigned from, bool checked, const auto& body) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const unsigned part = from + warp + k * kWarps;
      const unsigned row = part >> (log_width - 5), i = (part % (1u << (log_width - 5))) * 32 + lane;
      if (!checked || (row < few && i < width)) body(k, row * length + first + i, padded(past + i * few + row));
    }
  };
  const unsigned parts = few << (log_width - 5);

  if constexpr (kFewRows) {
    // load: parts of the long rows
    for (unsigned from = 0; from < parts; from += kAtOnce * kWarps) {
      const auto load = [&](bool checked) {
        float v[kAtOnce];
        for_parts(from, checked, [&](unsigned k, std::size_t at, unsigned) { v[k] = in[at]; });
        for_parts(from, checked, [&](unsigned k, std::size_t, unsigned to) { tile[to] = v[k]; });
      };
      // a thread has 7 predicate registers, so at most 7 checked loads are in flight
      if (width >> log_width == 1 && from + kAtOnce * kWarps <= parts) {
        load(false);
      } else {
        load(true);
      }
    }
    __syncthreads();
    // store: the contiguous piece
    float* const to = out + first * few - past;
    for (unsigned i = 4 * tid; i < end; i += 4 * kBlock) {
      const float* const from = tile + padded(i);
      if (i >= past && i + 4 <= end) {
        __stcs(reinterpret_cast<float4*>(to + i), make_float4(from[0], from[1], from[2], from[3]));
      } else {
        for (unsigned j = 0; j < 4; ++j) {
          if (i + j >= past && i + j < end) to[i + j] = from[j];
        }
      }
    }
  } else {
    // load: the contiguous piece
    const float* const from = in + first * few - past;
    constexpr unsigned kLoads = kElements / 4 / kBlock + 1;  // one more if the piece is misaligned
    float4 v[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) {
      const unsigned i = 4 * (tid + k * kBlock);
      if (i >= past && i + 4 <= end) v[k] = *reinterpret_cast<const float4*>(from + i);
    }
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) {
      const unsigned i = 4 * (tid + k * kBlock);
      float* const to = tile + padded(i);
      if (i >= past && i + 4 <= end) {
        to[0] = v[k].x, to[1] = v[k].y, to[2] = v[k].z, to[3] = v[k].w;
      } else {
        for (unsigned j = 0; j < 4; ++j) {
          if (i + j >= past && i + j < end) to[j] = from[i + j];
        }
      }
    }
    __syncthreads();
    // store: parts of the long rows
    for (unsigned begin = 0; begin < parts; begin += kAtOnce * kWarps) {
      for_parts(begin, true, [&](unsigned, std::size_t at, unsigned from_tile) { out[at] = tile[from_tile]; });
    }
  }
}

// The shorter side must be 1 to kMostFew. Tiles are widened while at least four per SM remain.
inline void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  const bool few_rows = rows <= cols;
  const std::size_t few = std::min(rows, cols), length = std::max(rows, cols);
  const std::size_t enough = std::size_t{4} * sm_count();
  unsigned log_width = 5;
  while (few << (log_width + 1) <= kElements && length >> (log_width + 1) >= enough) ++log_width;
  const auto kernel = few_rows ? transpose_thin<true> : transpose_thin<false>;
  const auto grid = static_cast<unsigned>(ceil_div(length, std::size_t{1} << log_width));
  kernel<<<grid, kBlock>>>(in, out, static_cast<unsigned>(few), length, log_width);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose_thin
