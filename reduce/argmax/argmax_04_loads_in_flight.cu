// Problem:  step 03 searches a tile again at the end, which takes about 3.5 us more than max for any n.
// Idea:     each thread keeps the float4 with its greatest key and searches it at the end. Four float4 are in flight.
// Expect:   1.3x step 03 at 2^20, where the search takes a large share; 1.0 to 1.05x from 2^28 on: keeping a float4
//           takes six selects.
// Measured: 1.10x step 03, 1.02x CUB at 2^28 (H200); 0.99x, 1.03x (H100).
// Next:     which of two equal maxima does a thread keep? (The first: its indices rise, and only a greater key replaces
//           it.)
#include "argmax.cuh"
#include "../key_index.cuh"
#include "../last_block.cuh"

constexpr int kBlock = 512;
constexpr int kLoads = 4;               // float4 in flight per thread
constexpr int kTile = kLoads * kBlock;  // float4 per block and trip

__device__ static int key_of(float4 v) {
  return max(max(argmax_key(v.x), argmax_key(v.y)), max(argmax_key(v.z), argmax_key(v.w)));
}
// Returns the position of the first of v's elements with this key; one of them must have it.
__device__ static int place_of(int key, float4 v) {
  return argmax_key(v.x) == key ? 0 : argmax_key(v.y) == key ? 1 : argmax_key(v.z) == key ? 2 : 3;
}

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    argmax_loads_in_flight(const float* __restrict__ x, KeyIndex* partials, std::int64_t* __restrict__ out,
                           std::size_t n, unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4, tail = head + 4 * n4, tiles = n4 / kTile;
  const unsigned tid = threadIdx.x;
  int key = no_element().key;  // the greatest key so far, its float4, and the index of that float4
  float4 winner = {};
  std::size_t number = 0;
  const auto offer = [&](float4 v, std::size_t i) {
    if (key_of(v) > key) key = key_of(v), winner = v, number = i;
  };

  // load: tiles, then single float4
  for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::size_t first = tile * kTile + tid;
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = kEvictFirst ? __ldcs(x4 + first + k * kBlock) : x4[first + k * kBlock];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) offer(v[k], first + k * kBlock);
  }
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  for (std::size_t i = tiles * kTile + std::size_t{blockIdx.x} * kBlock + tid; i < n4; i += stride) offer(x4[i], i);

  // find the element within the float4, then take the head and the tail
  KeyIndex best = no_element();
  if (key != best.key) best = {key, static_cast<long long>(head + 4 * number) + place_of(key, winner)};
  const auto offer_single = [&](std::size_t i) {
    const KeyIndex other = {argmax_key(x[i]), static_cast<long long>(i)};
    if (is_greater(other, best)) best = other;
  };
  if (blockIdx.x == 0 && tid < head) offer_single(tid);
  if (blockIdx.x == 0 && tid < n - tail) offer_single(tail + tid);

  // reduce within the block
  best = block_max_to_thread_0<kBlock>(best);
  if (!is_last_block(partials, best)) return;

  // combine: the last block reduces the blocks' pairs
  best = no_element();
  for (unsigned b = tid; b < gridDim.x; b += kBlock) {
    const KeyIndex other = partials[b];
    if (is_greater(other, best)) best = other;
  }
  best = block_max_to_thread_0<kBlock>(best);
  if (tid == 0) *out = best.index;
}

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const auto kernel =
      evict_first_pays(n * sizeof(float)) ? argmax_loads_in_flight<true> : argmax_loads_in_flight<false>;
  const std::size_t resident = resident_blocks(kernel, kBlock);
  const auto grid = static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n / 4, kTile), 1, resident));
  kernel<<<grid, kBlock>>>(x, scratch<KeyIndex>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Argmax, launch);
