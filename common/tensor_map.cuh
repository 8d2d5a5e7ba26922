// Tensor maps for TMA (sm_90), and aligned copies of matrices that TMA cannot read.
#pragma once
#include "ladder.cuh"

#include <cuda.h>  // CUtensorMap; nothing of libcuda is linked

#include <type_traits>

// Returns the driver's cuTensorMapEncodeTiled, looked up through the runtime.
inline auto tensor_map_encoder() {
  static const auto encoder = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
#else
    CUDA_CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &entry, cudaEnableDefault, &found));
#endif
    if (found != cudaDriverEntryPointSuccess) throw std::runtime_error("the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  return encoder;
}

// Returns true if TMA can read a matrix at `data` with leading dimension `ld`.
template <typename T>
bool tma_takes(const T* data, std::size_t ld) {
  return aligned_for<uint4>(data) && ld * sizeof(T) % sizeof(uint4) == 0;
}

// Returns true if TMA can store rows of `columns` elements without touching what follows them. If a row ends within a
// 16-byte chunk, an H200 writes the element after it, too.
template <typename T>
bool tma_stores(const T* data, std::size_t columns, std::size_t ld) {
  return tma_takes(data, ld) && columns * sizeof(T) % sizeof(uint4) == 0;
}

// Returns the tensor map of a non-empty rows x columns matrix for which tma_takes() is true, with boxes of box_rows
// rows of 128 bytes. In shared memory row r of a box holds its 16-byte chunks in the order chunk ^ r % 8.
template <typename T>
CUtensorMap tensor_map(const T* data, std::size_t rows, std::size_t columns, std::size_t ld, unsigned box_rows) {
  static_assert(std::is_same<T, float>::value || sizeof(T) == 2, "float or BF16");
  const CUtensorMapDataType type = sizeof(T) == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const cuuint64_t lengths[] = {columns, rows}, strides[] = {ld * sizeof(T)};  // innermost first
  const cuuint32_t box[] = {128 / sizeof(T), box_rows}, steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result = tensor_map_encoder()(&map, type, 2, const_cast<T*>(data), lengths, strides, box, steps,
                                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(result)));
  }
  return map;
}

// Copies the matrix into rows of `chunks` 16-byte chunks, padded with zeros. One thread per chunk.
template <typename T>
__global__ static void copy_to_chunks(long long rows, long long columns, const T* __restrict__ from, long long ld,
                                      uint4* __restrict__ to, long long chunks) {
  constexpr int kCount = sizeof(uint4) / sizeof(T);
  const long long i = blockIdx.x * 256LL + threadIdx.x, row = i / chunks, chunk = i % chunks;
  if (row >= rows) return;
  alignas(uint4) T elements[kCount];
#pragma unroll
  for (int x = 0; x < kCount; ++x) {
    const long long column = chunk * kCount + x;
    elements[x] = column < columns ? from[row * ld + column] : T(0.0f);
  }
  to[i] = *reinterpret_cast<const uint4*>(elements);
}

// Returns the matrix itself if TMA can read it. Else returns a copy in scratch memory and sets ld to the copy's. Tag:
// see scratch().
template <typename Tag, typename T>
const T* rows_for_tma(const T* data, std::size_t rows, std::size_t columns, std::size_t& ld) {
  if (tma_takes(data, ld)) return data;
  const std::size_t chunks = ceil_div(columns * sizeof(T), sizeof(uint4));
  uint4* copy = scratch<uint4, Tag>(rows * chunks);
  copy_to_chunks<<<static_cast<unsigned>(ceil_div(rows * chunks, std::size_t{256})), 256>>>(rows, columns, data, ld,
                                                                                            copy, chunks);
  CUDA_CHECK(cudaGetLastError());
  ld = chunks * sizeof(uint4) / sizeof(T);
  return reinterpret_cast<const T*>(copy);
}
