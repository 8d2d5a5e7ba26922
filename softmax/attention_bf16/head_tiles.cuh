// Tiles of Q, K and V in shared memory, as TMA writes them, and the two GEMMs by wgmma, for attention_bf16 03.
#pragma once
#include "attention_bf16_tile.cuh"
#include "hopper.cuh"
#include "tensor_map.cuh"

// A tile of kRows rows as TMA writes it: boxes of 64 columns, whose rows of 128 bytes are swizzled.
template <int kRows, int D>
using Boxes = __nv_bfloat16[D / 64][kRows][64];
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

// Returns a tensor map of the heads' rows x d matrices, loaded in boxes of box_rows rows. `data` must be 16-byte
// aligned and not empty. The map has three dimensions, so that TMA zero-fills rows past a head's end: the next head's
// rows could hold NaN, and 0 * NaN is NaN.
inline CUtensorMap map_of_heads(const __nv_bfloat16* data, std::size_t heads, std::size_t rows, std::size_t d,
                                unsigned box_rows) {
  const cuuint64_t lengths[] = {d, rows, heads}, strides[] = {d * sizeof *data, rows * d * sizeof *data};
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

// Issues TMA loads of the rows of `head` from `row` on. One thread must call it; `full` gets its arrival and the bytes.
template <int kBoxes, int kRows>
__device__ inline void load_boxes(__nv_bfloat16 (&to)[kBoxes][kRows][64], const CUtensorMap& map, unsigned row,
                                  unsigned head, Barrier* full) {
  mbarrier_arrive_expect(full, sizeof to);
  for (int b = 0; b < kBoxes; ++b) {
    SM90_ASM(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];\n" ::"r"(shared_address(to[b])),
        "l"(&map), "r"(64 * b), "r"(row), "r"(head), "r"(shared_address(full))
        : "memory");
  }
}

// Starts s = Q K^T for 64 queries and the tile's 128 keys, as one wgmma group.
template <int D>
__device__ inline void multiply_scores(float (&s)[16][4], const Boxes<64, D>& Q, const Boxes<128, D>& K) {
  wgmma_fence();
#pragma unroll
  for (int c = 0; c < D; c += 16) {
    wgmma_m64n128k16_bf16_nk(wgmma_list(s), wgmma_descriptor(&Q[c / 64][0][c % 64], 0, kGroupOfRows),
                             wgmma_descriptor(&K[c / 64][0][c % 64], 0, kGroupOfRows), c > 0);
  }
  wgmma_commit();
}

// Starts o += P V, as one wgmma group.
template <int D>
__device__ inline void multiply_values(float (&o)[D / 8][4], const unsigned (&p)[8][4], const Boxes<128, D>& V) {
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const std::uint64_t v = wgmma_descriptor(&V[0][j * 16][0], sizeof(V[0]), kGroupOfRows);
    if constexpr (D == 64) {
      wgmma_m64n64k16_bf16_ra_kn(wgmma_list(o), p[j], v, true);
    } else {
      wgmma_m64n128k16_bf16_ra_kn(wgmma_list(o), p[j], v, true);
    }
  }
  wgmma_commit();
}
