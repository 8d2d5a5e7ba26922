// A group of query heads as a tile of mma.sync: packs loaded elements into operands, and stores the results.
#pragma once
#include "eight_columns.cuh"
#include "../split_keys.cuh"

// Packs element x of a and of b, a's in the lower half.
__device__ inline unsigned pair_of(const uint4& a, const uint4& b, int x) {
  const unsigned as[] = {a.x, a.y, a.z, a.w}, bs[] = {b.x, b.y, b.z, b.w};
  return __byte_perm(as[x / 2], bs[x / 2], x % 2 == 0 ? 0x5410 : 0x7632);
}

// Splits first and second exactly into three BF16 numbers each, which take 8 of the 24 bits in turn.
__device__ inline void split(unsigned (&parts)[3], float first, float second) {
#pragma unroll
  for (unsigned& part : parts) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    part = reinterpret_cast<const unsigned&>(both);
    first -= low(part);
    second -= high(part);
  }
}

// Stores a lane's results, or those of its split. o[x][i] belongs to head 2 t + i % 2 and one of 16 columns; the four
// columns of o[2 i] and o[2 i + 1] are adjacent, from column_of(i) on. max and sum belong to head g; sum is this lane's
// part. `at` is the row of the first head; `heads` heads are left from there on. All lanes of a warp must call it.
template <int D, bool kAligned, typename ColumnOf>
__device__ void store_heads(const float (&o)[D / 16][4], float sum, float max, const Splits& splits, unsigned split,
                            float* out, std::size_t at, std::size_t heads, const ColumnOf& column_of) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  sum = group_sum<4>(sum);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float all = __shfl_sync(0xffffffff, sum, 8 * t + 4 * h), most = __shfl_sync(0xffffffff, max, 8 * t + 4 * h);
    const std::size_t head = 2 * t + h, row = at + head, partial = row * splits.count + split;
    if (head >= heads) continue;
    const float factor = splits.count == 1 ? inverse(all) : 1.0f;
#pragma unroll
    for (int i = 0; i < D / 32; ++i) {
      const float4 mine = {factor * o[2 * i][h], factor * o[2 * i][h + 2], factor * o[2 * i + 1][h],
                           factor * o[2 * i + 1][h + 2]};
      if (splits.count == 1) {
        store4<kAligned>(out + row * D + column_of(i), mine);
      } else {
        as4(splits.outputs[partial * D + column_of(i)]) = mine;
      }
    }
    if (splits.count > 1 && g == 0) splits.pairs[partial] = {most, all};
  }
}
