// Problem:  a decoder has one query per head. A block of step 03 has 192 rows, or 128 at d = 128; 8 heads are 8 blocks.
// Idea:     flash decoding, as in attention 10, by mma.sync: a warp takes 16 queries and one split of the keys. It
//           loads fragments directly from global memory, 16 bytes at a time. A second kernel merges the splits.
// Expect:   15 to 20x step 03 at 8x16x100003/causal=1, 0.7 to 0.9 of a copy's rate. 0.5x or less with many queries.
// Measured: 15.9x step 03, 45.3 TFLOP/s at 8x16x100003/causal=1 (H200).
// Next:     in grouped-query attention heads share K and V. What would a tile of 16 rows hold?
// needs: sm_80
#include "attention_bf16.cuh"
#include "bf16_chunks.cuh"  // load_chunk_guarded
#include "attention_bf16_tile.cuh"
#include "../split_keys.cuh"

constexpr int kTileQueries = 16, kTileKeys = 16;  // of a warp; one fragment of P
constexpr std::size_t kShortestSplit = 32;        // keys

// Loads eight contiguous elements of a row. !kAligned: p may have any alignment.
template <bool kAligned>
__device__ __forceinline__ uint4 load_chunk(const __nv_bfloat16* p) {
  if constexpr (kAligned) return *reinterpret_cast<const uint4*>(p);
  return load_chunk_guarded(p, 8);
}

// Packs element x of both chunks, a's in the lower half.
__device__ __forceinline__ unsigned pair_of(const uint4& a, const uint4& b, int x) {
  const unsigned as[] = {a.x, a.y, a.z, a.w}, bs[] = {b.x, b.y, b.z, b.w};
  return __byte_perm(as[x / 2], bs[x / 2], x % 2 == 0 ? 0x5410 : 0x7632);
}

// One warp per head, split of the keys and tile of 16 queries; a split's tiles are neighbouring warps and share L2.
// A lane loads 16 contiguous bytes at a time; permuted indices make them fragments (g = lane / 4, t = lane % 4):
//   Q K^T: the contraction index d is permuted, the same way for Q and K. Where mma.sync expects dimensions 2t, 2t + 1,
//     2t + 8, 2t + 9, a lane holds four contiguous ones, so eight contiguous elements of a row of K feed two mma.sync.
//   P V: of each 64 columns of O, output tile x holds columns 8g + x. So eight contiguous elements of four rows of V,
//     in pairs of rows, feed eight mma.sync, and a lane ends with 16 contiguous elements of a row of O.
template <int D, bool kAligned>
__global__ void __launch_bounds__(kSplitThreads, D == 64 ? 4 : 2)
    attention_bf16_split(const __nv_bfloat16* __restrict__ Q, const __nv_bfloat16* __restrict__ K,
                         const __nv_bfloat16* __restrict__ V, __nv_bfloat16* __restrict__ O, Splits splits,
                         std::size_t heads, unsigned tiles, long long queries, long long keys, bool causal) {
  const unsigned warp = blockIdx.x * kSplitWarps + threadIdx.x / 32;
  const std::size_t head = warp / tiles / splits.count;
  if (head >= heads) return;  // the whole warp
  const unsigned split = warp / tiles % splits.count;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const long long row0 = static_cast<long long>(warp % tiles) * kTileQueries, row = row0 + g;  // and row + 8
  const SeenKeys to_see = keys_of_split<kTileQueries>(split, row0, splits.keys, queries, keys, causal);
  const int count = to_see.count, seen = to_see.seen;
  Q += (head * queries + row) * D + 8 * t;
  K += (head * keys + to_see.begin) * D + 8 * t;
  V += (head * keys + to_see.begin) * D + 8 * g;
  // Past the split's end its last key is loaded again. Those scores are masked, and 0 times a finite value is 0.
  uint4 k[kTileKeys / 8][D / 32], v[4][D / 64];
  const auto load_k = [&](int key0) {
#pragma unroll
    for (int j = 0; j < kTileKeys / 8; ++j) {
      const long long key = min(key0 + 8 * j + g, count - 1);
#pragma unroll
      for (int c = 0; c < D / 32; ++c) k[j][c] = load_chunk<kAligned>(K + key * D + 32 * c);
    }
  };
  const auto load_v = [&](int key0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // keys 2 t, 2 t + 1, 2 t + 8 and 2 t + 9
      const long long key = min(key0 + 2 * t + i % 2 + i / 2 * 8, count - 1);
#pragma unroll
      for (int b = 0; b < D / 64; ++b) v[i][b] = load_chunk<kAligned>(V + key * D + 64 * b);
    }
  };
  if (count > 0) {
    load_k(0);
    load_v(0);
  }
  unsigned q[D / 16][4];
#pragma unroll
  for (int c = 0; c < D / 32; ++c) {
    const uint4 first = row < queries ? load_chunk<kAligned>(Q + 32 * c) : uint4{};
    const uint4 second = row + 8 < queries ? load_chunk<kAligned>(Q + 8 * D + 32 * c) : uint4{};
    q[2 * c][0] = first.x, q[2 * c][1] = second.x, q[2 * c][2] = first.y, q[2 * c][3] = second.y;
    q[2 * c + 1][0] = first.z, q[2 * c + 1][1] = second.z, q[2 * c + 1][2] = first.w, q[2 * c + 1][3] = second.w;
  }

  Rows<D> rows;
  for (int key0 = 0; key0 < count; key0 += kTileKeys) {
    const bool more = count - key0 > kTileKeys;
    float s[kTileKeys / 8][4] = {};
#pragma unroll
    for (int c = 0; c < D / 32; ++c) {
#pragma unroll
      for (int j = 0; j < kTileKeys / 8; ++j) {
        mma_m16n8k16_bf16(s[j], q[2 * c], k[j][c].x, k[j][c].y);
        mma_m16n8k16_bf16(s[j], q[2 * c + 1], k[j][c].z, k[j][c].w);
      }
    }
    if (more) load_k(key0 + kTileKeys);
    if (seen - key0 < kTileKeys) mask_scores(s, seen - 1 + g - key0, count - key0);
    float rescale[2];
    scores_to_weights(rows, s, rescale);
    rescale_rows(rows, rescale);
    unsigned p[4];
    pack_weights(p, s[0], s[1]);
#pragma unroll
    for (int c = 0; c < D / 8; ++c) {
      const int b = c / 8, x = c % 8;
      mma_m16n8k16_bf16(rows.o[c], p, pair_of(v[0][b], v[1][b], x), pair_of(v[2][b], v[3][b], x));
    }
    if (more) load_v(key0 + kTileKeys);
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = group_sum<4>(rows.sum[half]), factor = splits.count == 1 ? inverse(sum) : 1.0f;
    if (row + 8 * half >= queries) continue;
    const std::size_t to = head * queries + row + 8 * half, at = to * splits.count + split;
#pragma unroll
    for (int i = 0; i < D / 16; ++i) {  // four of the lane's columns
      const auto column = [&](int x) { return factor * rows.o[i / 4 * 8 + i % 2 * 4 + x][2 * half + i / 2 % 2]; };
      const float4 o = {column(0), column(1), column(2), column(3)};
      const int col = i / 4 * 64 + t * 16 + i % 4 * 4;
      if (splits.count == 1) {
        store4<kAligned>(O + to * D + col, o);
      } else {
        as4(splits.outputs[at * D + col]) = o;
      }
    }
    if (splits.count > 1 && t == 0) splits.pairs[at] = {rows.max[half], sum};
  }
}

template <int D, bool kAligned>
static void launch_split_d(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                           std::size_t heads, std::size_t queries, std::size_t keys, bool causal) {
  const auto kernel = attention_bf16_split<D, kAligned>;
  const std::size_t tiles = ceil_div(queries, kTileQueries), rows = heads * queries;
  const Splits splits = split_keys<D>(kernel, heads * tiles, rows, keys, kShortestSplit);
  const auto grid = static_cast<unsigned>(ceil_div(heads * tiles * splits.count, kSplitWarps));
  kernel<<<grid, kSplitThreads>>>(Q, K, V, O, splits, heads, static_cast<unsigned>(tiles), queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
  merge_splits<D, kAligned>(splits, O, rows);
}

static void launch_split_keys(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                              std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const bool aligned = aligned_for<uint4>(Q, K, V, O);
  const auto launch = d == 64 ? (aligned ? launch_split_d<64, true> : launch_split_d<64, false>)
                              : (aligned ? launch_split_d<128, true> : launch_split_d<128, false>);
  launch(Q, K, V, O, heads, queries, keys, causal);
}

LADDER_STEP(AttentionBf16, launch_split_keys);
