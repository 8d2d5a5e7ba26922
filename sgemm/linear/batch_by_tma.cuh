// A batch of matrices for TMA, whose stores must end at each matrix's last row.
#pragma once
#include "hopper.cuh"
#include "tensor_map.cuh"

// Returns the map of `layers` contiguous matrices of rows x columns; tma_stores() must be true for one of them. A box
// is box_rows x 128 bytes of one matrix, swizzled as in tensor_map().
inline CUtensorMap tensor_map_of_batch(const __nv_bfloat16* data, std::size_t layers, std::size_t rows,
                                       std::size_t columns, unsigned box_rows) {
  const cuuint64_t lengths[] = {columns, rows, layers}, strides[] = {2 * columns, 2 * columns * rows};
  const cuuint32_t box[] = {64, box_rows, 1}, steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      tensor_map_encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<__nv_bfloat16*>(data), lengths,
                           strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(result)));
  }
  return map;
}

// tma_store() to one matrix of such a batch.
__device__ inline void tma_store(const void* from, const CUtensorMap* map, unsigned column, unsigned row,
                                 unsigned layer) {
  SM90_ASM("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];\n" ::"l"(map), "r"(column),
           "r"(row), "r"(layer), "r"(shared_address(from))
           : "memory");
}
