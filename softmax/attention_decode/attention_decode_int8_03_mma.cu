// Problem:  step 02 converts a byte once for all heads, but repeats FMAs and shuffles for each: at four and at eight
//           query heads per group it takes longer than attention_decode 05, which reads twice the bytes.
// Idea:     the tiles of attention_decode 05. The bytes are converted to BF16 in registers, which is exact. K's scale
//           multiplies a score, V's the weight p before it is split into BF16 parts: neither is in the products.
// Expect:   0.65 to 0.85 of a read at groups=4 and 8: 1.7 to 2.2 and 4 to 5.2x step 02; 1.05 to 1.35x at groups=1. 16
//           keys are 550 instructions (SASS), 61 % of the issue slots; other costs were not counted.
// Measured: 1.10x step 02, 0.76 of a read at 64x32x1x1024 (H200).
// Next:     the bytes are FP8 instead. Which lines change? (the conversion; the tensor cores of sm_89 take it as it is)
// needs: sm_80
#include "attention_decode_int8.cuh"
#include "eight_bytes.cuh"
#include "head_tile.cuh"
#include "tensor_core.cuh"
#include "../attention_float4.cuh"  // kScoreScale

constexpr int kD = 128, kHeads = 8, kTileKeys = 16;  // of a warp
constexpr std::size_t kShortestSplit = 32;           // keys

// Loads sixteen bytes. !kAligned: p may have any alignment.
template <bool kAligned>
__device__ static uint4 load16(const std::int8_t* p) {
  if constexpr (kAligned) return *reinterpret_cast<const uint4*>(p);
  const uint2 first = load8<false>(p), second = load8<false>(p + 8);
  return {first.x, first.y, second.x, second.y};
}

// Converts bytes `first` and first + 2 of a word to BF16 exactly, without I2F. After the upper byte of 128, the low
// seven bits give 128 to 255, and the sign bit alone gives 128 or 256. The byte is their difference.
__device__ static unsigned to_bf16(unsigned word, int first) {
  const unsigned both = __byte_perm(word, 0x43434343u, first == 0 ? 0x4240 : 0x4341);
  const unsigned low_bits = both & 0xff7fff7fu, sign = both & 0xff80ff80u;
  const __nv_bfloat162 x =
      __hsub2(reinterpret_cast<const __nv_bfloat162&>(low_bits), reinterpret_cast<const __nv_bfloat162&>(sign));
  return reinterpret_cast<const unsigned&>(x);
}

// One warp per sequence, KV head, tile of up to eight query heads and split, with the roles of attention_decode 05.
// g = lane / 4, t = lane % 4, in tiles of 16 keys. Sixteen bytes are twice as many columns as there, so
//   S = Q K^T: a lane has columns 64c + 16t to 64c + 16t + 15 of keys g and g + 8, and of head g;
//   O^T = V^T P^T: a lane has columns 16g to 16g + 15 of keys 2t, 2t + 1, 2t + 8 and 2t + 9.
// A word's bytes 0 and 2 are one operand, bytes 1 and 3 the next; q's columns are permuted the same way.
template <bool kAligned>
__global__ void __launch_bounds__(kSplitThreads, 4)
    decode_int8_mma(const __nv_bfloat16* __restrict__ q, const std::int8_t* __restrict__ K,
                    const std::int8_t* __restrict__ V, const int* __restrict__ lengths,
                    const __half* __restrict__ k_scales, const __half* __restrict__ v_scales, float* __restrict__ out,
                    Splits splits, std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t warp = std::size_t{blockIdx.x} * kSplitWarps + threadIdx.x / 32, tiles = ceil_div(groups, kHeads);
  const std::size_t unit = warp / splits.count, sequence = unit / tiles / kv_heads, kv_head = unit / tiles % kv_heads;
  if (sequence >= sequences) return;  // the whole warp
  const std::size_t first = unit % tiles * kHeads, row = (sequence * kv_heads + kv_head) * groups + first;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const long long begin = warp % splits.count * splits.keys, stride = kv_heads * kD;
  const int count = static_cast<int>(min(splits.keys, lengths[sequence] - begin));
  K += (sequence * keys + begin) * stride + kv_head * kD + 16 * t;
  V += (sequence * keys + begin) * stride + kv_head * kD + 16 * g;
  const __half* scales = (lane < 16 ? k_scales : v_scales) + (sequence * kv_heads + kv_head) * keys + begin;
  const float factor = lane < 16 ? kScoreScale<kD> : 1.0f;

  // Past the split's end its last key is loaded again. Those scores are masked, and 0 times a finite value is 0.
  uint4 k[2][kD / 64], v[4];
  __half loaded_scale{};  // lanes 0 to 15: of K, key `lane`; the others: of V, key lane - 16
  const auto load_k = [&](int key0) {
    loaded_scale = scales[min(key0 + lane % 16, count - 1)];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const long long at = min(key0 + 8 * j + g, count - 1) * stride;
#pragma unroll
      for (int c = 0; c < kD / 64; ++c) k[j][c] = load16<kAligned>(K + at + 64 * c);
    }
  };
  const auto load_v = [&](int key0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[i] = load16<kAligned>(V + min(key0 + 2 * t + i % 2 + i / 2 * 8, count - 1) * stride);
    }
  };
  if (count > 0) {
    load_k(0);
    load_v(0);
  }
  unsigned query[kD / 32][4];
#pragma unroll
  for (int c = 0; c < kD / 32; ++c) {
    const int column = c / 2 * 64 + 16 * t + c % 2 * 8;
    const uint4 x = first + g < groups ? load8<kAligned>(q + (row + g) * kD + column) : uint4{};
    query[c][0] = __byte_perm(x.x, x.y, 0x5410), query[c][2] = __byte_perm(x.x, x.y, 0x7632);
    query[c][1] = __byte_perm(x.z, x.w, 0x5410), query[c][3] = __byte_perm(x.z, x.w, 0x7632);
  }

  float o[kD / 16][4] = {}, max = -INFINITY, sum = 0.0f;
  for (int key0 = 0; key0 < count; key0 += kTileKeys) {
    const bool more = count - key0 > kTileKeys;
    const float scale = factor * __half2float(loaded_scale);
    float s[2][2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float upper[4] = {}, lower[4] = {};  // of these, only rows 0 to 7 and rows 8 to 15 are used
#pragma unroll
      for (int c = 0; c < kD / 32; ++c) {
        const uint4& x = k[j][c / 2];
        const unsigned word0 = c % 2 == 0 ? x.x : x.z, word1 = c % 2 == 0 ? x.y : x.w;
        mma_m16n8k16_bf16(upper, query[c], to_bf16(word0, 0), to_bf16(word0, 1));
        mma_m16n8k16_bf16(lower, query[c], to_bf16(word1, 0), to_bf16(word1, 1));
      }
      s[j][0] = upper[0] + lower[2], s[j][1] = upper[1] + lower[3];
    }
    if (more) load_k(key0 + kTileKeys);
    // online softmax of head g, on four of its scores
    float new_max = max;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = i / 2, x = i % 2, key = 8 * j + 2 * t + x;
      const float k_scale = __shfl_sync(0xffffffff, scale, key);
      s[j][x] = key0 + key < count ? k_scale * s[j][x] : -INFINITY;
      new_max = fmaxf(new_max, s[j][x]);
    }
    new_max = group_max<4>(new_max);
    const float shift = shift_for(new_max), rescale = exp2f(max - shift);
    max = new_max;
    sum *= rescale;
    unsigned p[2][3];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const float weight = exp2f(s[j][x] - shift);
        sum += weight;
        s[j][x] = weight * __shfl_sync(0xffffffff, scale, 16 + 8 * j + 2 * t + x);  // V's weight; sum adds p alone
      }
      split(p[j], s[j][0], s[j][1]);
    }
    const float rescales[] = {__shfl_sync(0xffffffff, rescale, 8 * t), __shfl_sync(0xffffffff, rescale, 8 * t + 4)};
#pragma unroll
    for (int x = 0; x < kD / 16; ++x) {  // columns 2x and 2x + 1 of sixteen
      const unsigned near = pair_of(v[0], v[1], x), far = pair_of(v[2], v[3], x);
      const unsigned a[] = {to_bf16(near, 0), to_bf16(near, 1), to_bf16(far, 0), to_bf16(far, 1)};
#pragma unroll
      for (int i = 0; i < 4; ++i) o[x][i] *= rescales[i % 2];
#pragma unroll
      for (int part = 0; part < 3; ++part) mma_m16n8k16_bf16(o[x], a, p[0][part], p[1][part]);
    }
    if (more) load_v(key0 + kTileKeys);
  }

  store_heads<kD, kAligned>(o, sum, max, splits, static_cast<unsigned>(warp % splits.count), out, row, groups - first,
                            [g](int i) { return 16 * g + 4 * i; });
}

static void launch(const __nv_bfloat16* q, const std::int8_t* K, const std::int8_t* V, const int* lengths,
                   const __half* k_scales, const __half* v_scales, float* out, std::size_t sequences,
                   std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t units = sequences * kv_heads * ceil_div(groups, kHeads), rows = sequences * kv_heads * groups;
  if (rows == 0) return;
  const bool aligned = aligned_for<uint4>(q, K, V, out);
  const auto kernel = aligned ? decode_int8_mma<true> : decode_int8_mma<false>;
  const Splits splits = split_keys<kD>(kernel, units, rows, keys, kShortestSplit);
  kernel<<<static_cast<unsigned>(ceil_div(units * splits.count, kSplitWarps)), kSplitThreads>>>(
      q, K, V, lengths, k_scales, v_scales, out, splits, sequences, kv_heads, groups, keys);
  CUDA_CHECK(cudaGetLastError());
  (aligned ? merge_splits<kD, true, float> : merge_splits<kD, false, float>)(splits, out, rows);
}

LADDER_STEP(AttentionDecodeInt8, launch, true);
