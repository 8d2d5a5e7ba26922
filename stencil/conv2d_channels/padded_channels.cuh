// Pads channels with zeros to a multiple of 8, so that each chunk of 8 is 16 aligned bytes of one pixel or tap.
#pragma once
#include "bf16_chunks.cuh"
#include "ladder.cuh"

// Returns the number of channels with padding.
inline std::size_t padded(std::size_t C) { return ceil_div(C, 8) * 8; }

__global__ void pad_channels(const __nv_bfloat16* __restrict__ from, uint4* __restrict__ to, std::size_t chunks,
                             int C) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= chunks) return;
  const int per_row = (C + 7) / 8, c = static_cast<int>(i % per_row) * 8;
  to[i] = load_chunk_guarded(from + i / per_row * C + c, C - c);
}

// Returns `rows` rows of C channels as rows of padded(C): the array itself if its chunks are aligned, else a copy in
// scratch memory. Two copies in use at a time need different tags. rows and C must not be 0.
template <typename Tag>
const __nv_bfloat16* padded_channels(const __nv_bfloat16* from, std::size_t rows, std::size_t C) {
  if (C % 8 == 0 && aligned_for<uint4>(from)) return from;
  const std::size_t chunks = rows * padded(C) / 8;
  uint4* to = scratch<uint4, Tag>(chunks);
  pad_channels<<<static_cast<unsigned>(ceil_div(chunks, 256)), 256>>>(from, to, chunks, static_cast<int>(C));
  CUDA_CHECK(cudaGetLastError());
  return reinterpret_cast<const __nv_bfloat16*>(to);
}
