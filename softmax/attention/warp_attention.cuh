// A short attention kernel with the fragments of attention 09, for planted bugs: 16 queries per warp, 8 keys at a time.
#pragma once
#include "attention_fragments.cuh"
#include "split_tf32.cuh"

// Returns the key whose P a lane holds, for t = lane % 4 and y = 0 or 1.
struct KeysOfScores {
  __device__ int operator()(int t, int y) const { return 2 * t + y; }
};

// Runs with tiles_m blocks of one warp per head. multiply(sum, a, b) adds a b to sum, one fragment each. keys_of_v(t,
// y) is the row of V that a lane loads as the operand's row t (y = 0) or t + 4 (y = 1).
template <int D, typename Multiply, typename Keys = KeysOfScores>
__device__ void warp_attention(const float* Q, const float* K, const float* V, float* O, unsigned tiles_m,
                               long long queries, long long keys, bool causal, Multiply multiply, Keys keys_of_v = {}) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x % tiles_m) * 16, ahead = causal ? keys - queries : keys;
  const auto element = [&](const float* from, long long rows, long long row, int column) {
    return row < rows ? from[(head * rows + row) * D + column] : 0.0f;
  };
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {}, rescale[2], o[D / 32][4][4] = {};
  for (long long key0 = 0; key0 < keys; key0 += 8) {
    // scores of rows g and g + 8, keys 2 t and 2 t + 1
    float s[1][4] = {};
    for (int c = 0; c < D; c += 8) {
      Split<4> a;
      Split<2> b;
      for (int i = 0; i < 4; ++i) {
        a.set(i, kScoreScale<D> * element(Q, queries, row0 + g + i % 2 * 8, c + t + i / 2 * 4));
      }
      for (int i = 0; i < 2; ++i) b.set(i, element(K, keys, key0 + g, c + t + i * 4));
      multiply(s[0], a, b);
    }
    mask_fragments(s, key0, keys, row0, g, t, ahead);
    scores_to_weights(s, max, sum, rescale);
    Split<4> p;
    for (int e = 0; e < 4; ++e) p.set(e / 2 + e % 2 * 2, s[0][e]);
    // O += P V
    for (int i = 0; i < D / 32; ++i) {
      for (int x = 0; x < 4; ++x) {
        Split<2> b;
        for (int y = 0; y < 2; ++y) b.set(y, element(V, keys, key0 + keys_of_v(t, y), 32 * i + 4 * g + x));
        for (int e = 0; e < 4; ++e) o[i][x][e] *= rescale[e / 2];
        multiply(o[i][x], p, b);
      }
    }
  }
  store_fragments<D, false>(o, sum, O + (head * queries + row0) * D, row0, g, t, queries);
}
