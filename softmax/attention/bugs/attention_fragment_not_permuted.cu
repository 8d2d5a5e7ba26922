// bug: P holds keys 2 t and 2 t + 1, an accumulator's columns, but V's rows t and t + 4 are loaded
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
// needs: sm_80
#include "../attention.cuh"
#include "../warp_attention.cuh"

template <int D>
__global__ void attention_fragment_not_permuted(const float* __restrict__ Q, const float* __restrict__ K,
                                                const float* __restrict__ V, float* __restrict__ O, unsigned tiles_m,
                                                long long queries, long long keys, bool causal) {
  const auto multiply = [](float(&sum)[4], const Split<4>& a, const Split<2>& b) {
    mma_m16n8k8_tf32(sum, a.small, b.big[0], b.big[1]);
    mma_m16n8k8_tf32(sum, a.big, b.small[0], b.small[1]);
    mma_m16n8k8_tf32(sum, a.big, b.big[0], b.big[1]);
  };
  const auto keys_of_v = [](int t, int y) { return t + 4 * y; };  // 2 * t + y
  warp_attention<D>(Q, K, V, O, tiles_m, queries, keys, causal, multiply, keys_of_v);
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, 16));
  const auto kernel = d == 64 ? attention_fragment_not_permuted<64> : attention_fragment_not_permuted<128>;
  kernel<<<static_cast<unsigned>(heads * tiles_m), 32>>>(Q, K, V, O, tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Attention, launch);
