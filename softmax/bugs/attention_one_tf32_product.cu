// bug: one TF32 product in the place of three: inputs have 11 significant bits, not 24
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
// needs: sm_80
#include "../attention.cuh"
#include "../online.cuh"
#include "tensor_core.cuh"

constexpr int kMostD = 128;

// d += a b, in TF32, rounded to the nearest.
__device__ void multiply(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
  const auto rounded = [](float x) {
    return __float_as_uint(x) + 0x1000u;
  };  // the tensor core cuts the low 13 bits off
  const unsigned big[4] = {rounded(a[0]), rounded(a[1]), rounded(a[2]), rounded(a[3])};
  mma_m16n8k8_tf32(d, big, rounded(b[0]), rounded(b[1]));  // and big small, and small big
}

// One warp for 16 queries, 8 keys at a time.
__global__ void attention_one_tf32_product(const float* __restrict__ Q, const float* __restrict__ K,
                                           const float* __restrict__ V, float* __restrict__ O, unsigned tiles_m,
                                           long long queries, long long keys, int d, bool causal) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x % tiles_m) * 16;
  const auto element = [&](const float* from, long long rows, long long row, int column) {
    return row < rows ? from[(head * rows + row) * d + column] : 0.0f;
  };
  float o[kMostD / 8][4] = {}, max[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (long long key0 = 0; key0 < keys; key0 += 8) {
    // scores: rows g and g + 8, keys 2 t and 2 t + 1
    float s[4] = {};
    for (int c = 0; c < d; c += 8) {
      float a[4], b[2];
      for (int i = 0; i < 4; ++i) a[i] = element(Q, queries, row0 + g + i % 2 * 8, c + t + i / 2 * 4);
      for (int i = 0; i < 2; ++i) b[i] = element(K, keys, key0 + g, c + t + i * 4);
      multiply(s, a, b);
    }
    float p[4], rescale[2];
    for (int r = 0; r < 2; ++r) {
      const long long row = row0 + g + 8 * r, last = causal ? min(keys - 1, row + keys - queries) : keys - 1;
      float m = max[r];
      for (int x = 0; x < 2; ++x) {
        float& score = s[2 * r + x];
        score = key0 + 2 * t + x <= last ? score / sqrtf(static_cast<float>(d)) : -INFINITY;
        m = fmaxf(m, score);
      }
      m = group_max<4>(m);
      const float shift = shift_for(m);
      rescale[r] = expf(max[r] - shift);
      max[r] = m;
      for (int x = 0; x < 2; ++x) p[r + 2 * x] = expf(s[2 * r + x] - shift);  // as the first operand
      sum[r] = sum[r] * rescale[r] + p[r] + p[r + 2];
    }
    for (int i = 0; i < d / 8; ++i) {
      float b[2];
      for (int x = 0; x < 2; ++x) b[x] = element(V, keys, key0 + 2 * t + x, 8 * i + g);
      for (int e = 0; e < 4; ++e) o[i][e] *= rescale[e / 2];
      multiply(o[i], p, b);
    }
  }
  for (int r = 0; r < 2; ++r) {
    const float total = group_sum<4>(sum[r]);
    const long long row = row0 + g + 8 * r;
    if (row >= queries) continue;
    for (int i = 0; i < d / 8; ++i) {
      for (int x = 0; x < 2; ++x) {
        O[(head * queries + row) * d + 8 * i + 2 * t + x] = total == 0.0f ? 0.0f : o[i][2 * r + x] / total;
      }
    }
  }
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, 16));
  attention_one_tf32_product<<<static_cast<unsigned>(heads * tiles_m), 32>>>(Q, K, V, O, tiles_m, queries, keys, d,
                                                                             causal);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Attention, launch);
