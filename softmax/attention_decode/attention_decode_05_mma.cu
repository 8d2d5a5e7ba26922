// Problem:  at eight query heads per group step 04 takes 1486 instructions for 8 keys (SASS), whose bytes leave an H200
//           890 issue slots. FMAs, conversions and shuffles are repeated for each head.
// Idea:     the group is a tile of the tensor cores: Q K^T has heads as rows, and its result is the B operand of V^T
//           P^T. P is split into three BF16 parts, which hold its 24 bits, so the result is as accurate as FP32.
// Expect:   0.85 to 0.95 of a read at groups=4 and 8: 1.3 and 2.7x step 04; 0.9 to 1.0x at groups=1. 16 keys are 275
//           instructions (SASS) for up to eight heads, 15 % of the slots; the next K and V load meanwhile.
// Measured: 1.38x step 04, 0.94 of a read at 64x8x4x4096 (H200).
// Next:     a serving system keeps the cache in pages of 16 tokens. What changes in the loads?
// needs: sm_80
#include "attention_decode.cuh"
#include "head_tile.cuh"
#include "tensor_core.cuh"
#include "../attention_float4.cuh"  // kScoreScale

constexpr int kD = 128, kHeads = 8, kTileKeys = 16;  // of a warp
constexpr std::size_t kShortestSplit = 32;           // keys

// One warp per sequence, KV head, tile of up to eight query heads and split. g = lane / 4, t = lane % 4, in tiles of 16
// keys. A lane loads 16 contiguous bytes at a time; permuted indices make them fragments, as in attention_bf16 04:
//   S = Q K^T: a lane has columns 32c + 8t to 32c + 8t + 7 of head g and of keys g and g + 8. Rows g and g + 8 of A are
//     the first and the second four of head g's. mma.sync with the first four of a key gives half of a score in the
//     upper rows, with the second four the other half in the lower. A lane gets head g, keys 2t + {0, 1, 8, 9}.
//   O^T = V^T P^T: P is the B operand. A lane loads columns 64b + 8g to 64b + 8g + 7 of the same keys; rows g and
//     g + 8 of tile x are two of them. So a lane ends with these 16 columns of heads 2t and 2t + 1.
template <bool kAligned>
__global__ void __launch_bounds__(kSplitThreads, 3)
    decode_mma(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
               const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths, float* __restrict__ out,
               Splits splits, std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t warp = std::size_t{blockIdx.x} * kSplitWarps + threadIdx.x / 32, tiles = ceil_div(groups, kHeads);
  const std::size_t unit = warp / splits.count, sequence = unit / tiles / kv_heads, kv_head = unit / tiles % kv_heads;
  if (sequence >= sequences) return;  // the whole warp
  const std::size_t first = unit % tiles * kHeads, row = (sequence * kv_heads + kv_head) * groups + first;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const long long begin = warp % splits.count * splits.keys, stride = kv_heads * kD;
  const int count = static_cast<int>(min(splits.keys, lengths[sequence] - begin));
  K += (sequence * keys + begin) * stride + kv_head * kD + 8 * t;
  V += (sequence * keys + begin) * stride + kv_head * kD + 8 * g;

  // Past the split's end its last key is loaded again. Those scores are masked, and 0 times a finite value is 0.
  uint4 k[2][kD / 32], v[4][kD / 64];
  const auto load_k = [&](int key0) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const long long at = min(key0 + 8 * j + g, count - 1) * stride;
#pragma unroll
      for (int c = 0; c < kD / 32; ++c) k[j][c] = load8<kAligned>(K + at + 32 * c);
    }
  };
  const auto load_v = [&](int key0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const long long at = min(key0 + 2 * t + i % 2 + i / 2 * 8, count - 1) * stride;
#pragma unroll
      for (int b = 0; b < kD / 64; ++b) v[i][b] = load8<kAligned>(V + at + 64 * b);
    }
  };
  if (count > 0) {
    load_k(0);
    load_v(0);
  }
  unsigned query[kD / 32][4];
#pragma unroll
  for (int c = 0; c < kD / 32; ++c) {
    const uint4 v = first + g < groups ? load8<kAligned>(q + (row + g) * kD + 32 * c + 8 * t) : uint4{};
    query[c][0] = v.x, query[c][1] = v.z, query[c][2] = v.y, query[c][3] = v.w;
  }

  float o[kD / 16][4] = {}, max = -INFINITY, sum = 0.0f;
  for (int key0 = 0; key0 < count; key0 += kTileKeys) {
    const bool more = count - key0 > kTileKeys;
    float upper[2][4] = {}, lower[2][4] = {};  // of these, only rows 0 to 7 and rows 8 to 15 are used
#pragma unroll
    for (int c = 0; c < kD / 32; ++c) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        mma_m16n8k16_bf16(upper[j], query[c], k[j][c].x, k[j][c].y);
        mma_m16n8k16_bf16(lower[j], query[c], k[j][c].z, k[j][c].w);
      }
    }
    if (more) load_k(key0 + kTileKeys);
    // online softmax of head g, on four of its scores
    float s[2][2], new_max = -INFINITY;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = i / 2, x = i % 2;
      s[j][x] = key0 + 8 * j + 2 * t + x < count ? upper[j][x] + lower[j][2 + x] : -INFINITY;
      new_max = fmaxf(new_max, s[j][x]);
    }
    new_max = fmaxf(max, group_max<4>(new_max) * kScoreScale<kD>);
    const float shift = shift_for(new_max), rescale = exp2f(max - shift);
    max = new_max;
    sum *= rescale;
    unsigned p[2][3];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int i = 0; i < 2; ++i) sum += s[j][i] = exp2f(fmaf(s[j][i], kScoreScale<kD>, -shift));
      split(p[j], s[j][0], s[j][1]);
    }
    const float rescales[] = {__shfl_sync(0xffffffff, rescale, 8 * t), __shfl_sync(0xffffffff, rescale, 8 * t + 4)};
#pragma unroll
    for (int x = 0; x < kD / 16; ++x) {
      const int b = x / 4, c = x % 4 * 2;  // columns c and c + 1 of eight
      const unsigned a[] = {pair_of(v[0][b], v[1][b], c), pair_of(v[0][b], v[1][b], c + 1),
                            pair_of(v[2][b], v[3][b], c), pair_of(v[2][b], v[3][b], c + 1)};
#pragma unroll
      for (int i = 0; i < 4; ++i) o[x][i] *= rescales[i % 2];
#pragma unroll
      for (int part = 0; part < 3; ++part) mma_m16n8k16_bf16(o[x], a, p[0][part], p[1][part]);
    }
    if (more) load_v(key0 + kTileKeys);
  }

  store_heads<kD, kAligned>(o, sum, max, splits, static_cast<unsigned>(warp % splits.count), out, row, groups - first,
                            [g](int i) { return i / 2 * 64 + 8 * g + i % 2 * 4; });
}

static void launch(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                   float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t units = sequences * kv_heads * ceil_div(groups, kHeads), rows = sequences * kv_heads * groups;
  if (rows == 0) return;
  const bool aligned = aligned_for<uint4>(q, K, V, out);
  const auto kernel = aligned ? decode_mma<true> : decode_mma<false>;
  const Splits splits = split_keys<kD>(kernel, units, rows, keys, kShortestSplit);
  kernel<<<static_cast<unsigned>(ceil_div(units * splits.count, kSplitWarps)), kSplitThreads>>>(
      q, K, V, lengths, out, splits, sequences, kv_heads, groups, keys);
  CUDA_CHECK(cudaGetLastError());
  (aligned ? merge_splits<kD, true, float> : merge_splits<kD, false, float>)(splits, out, rows);
}

LADDER_STEP(AttentionDecode, launch, true);
