// Problem:  step 03 leaves most of its tile empty, or most SMs idle, where queries are few; step 04 loads K and V for
//           each 16 queries, which costs where they are many.
// Idea:     step 04's kernel or step 03's, whichever should be faster: by rounds of blocks and by warps that wait for
//           memory (attention_shapes.hpp).
// Expect:   the faster of both, within 1.2x next to the crossing. At the table's sizes of 64 heads step 03's figures.
// Measured: 3.16x step 04, 433 TFLOP/s at 64x2048x2048 (H200).
// Why:      there it is step 03's kernel; for few queries it is step 04's.
// Next:     heads that share K and V (grouped queries): what would a tile of 16 hold then?
// needs: sm_90a
#include "attention_bf16_parts.cuh"
#include "attention_bf16_wgmma.cuh"

static void launch(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                   std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  const bool few = few_queries_bf16(heads, queries, keys, d, causal, sm_count());
  (few ? bf16_parts::launch : wgmma_tma::launch)(Q, K, V, O, heads, queries, keys, d, causal);
}

static std::size_t roundings(std::size_t keys) { return std::max(bf16_parts::roundings(keys), tile_roundings(keys)); }

// Says which of Q, K and V are copied, where TMA is to read them.
class AttentionBf16ByShape : public AttentionBf16Tma {
 public:
  using AttentionBf16Tma::AttentionBf16Tma;
  std::string remark(const ladder::Arrays& device, const ladder::Size& size) const override {
    const bool few = few_queries_bf16(size[0], size[1], size[2], width(size), size[4] != 0, sm_count());
    return few ? "" : AttentionBf16Tma::remark(device, size);
  }
};
LADDER_STEP(AttentionBf16ByShape, launch, roundings);
