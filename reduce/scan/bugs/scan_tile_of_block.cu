// bug: tiles are not numbered in launch order, so running blocks wait for a block that cannot start
// caught by: cpu forward | have not started
// caught by: gpu | cudaError | --n=2^22
// stage: launches and ends
#include "../../block_scan.cuh"
#include "../scan.cuh"

constexpr int kBlock = 32;
constexpr int kPatience = 1 << 15;  // reads of one word; without a limit the kernel would never end

using Word = unsigned long long;

// words: one per tile, all 0; once the upper half is 1, the lower half is the sum of all tiles up to this one. The
// blocks of grid row 0, which start first, have tiles 0, 2, 4, ...; those of row 1 have tiles 1, 3, 5, ...
__global__ void scan_tile_of_block(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive,
                                   Word* words) {
  const unsigned tile = 2 * blockIdx.x + blockIdx.y;
  const std::size_t i = std::size_t{tile} * kBlock + threadIdx.x;
  const float v = i < n ? x[i] : 0.0f;
  const BlockScan<float> scan = block_scan<kBlock>(v);
  float before = 0.0f;
  if (threadIdx.x == 0 && tile > 0) {
    int looks = 0;
    Word word;
    do {
      word = *static_cast<volatile Word*>(words + tile - 1);
      if (++looks > kPatience) __trap();
    } while (word >> 32 == 0);
    before = __uint_as_float(static_cast<unsigned>(word));
  }
  if (threadIdx.x == 0) atomicExch(words + tile, Word{1} << 32 | __float_as_uint(before + scan.total));
  before = __shfl_sync(0xffffffff, before, 0) + scan.before;
  if (i < n) out[i] = exclusive ? before : before + v;
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  const auto pairs = static_cast<unsigned>(ceil_div(n, 2 * kBlock));
  Word* words = scratch<Word>(2 * pairs);
  CUDA_CHECK(cudaMemsetAsync(words, 0, 2 * pairs * sizeof(Word)));
  scan_tile_of_block<<<dim3(pairs, 2), kBlock>>>(x, out, n, exclusive, words);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Scan, launch);
