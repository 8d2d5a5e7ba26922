// Problem:  step 06 doesn't show how much memory its pool keeps, and how long.
// Idea:     the data pass through in pieces of 16 MB, each allocated, used and freed in stream order, so that a piece
//           gets the memory of the one before. cudaMemPoolTrimTo gives back what the pool keeps.
// Expect:   0.95 to 1.0x step 06 at 2^26: 16 pieces, five commands each. reserved_mb is that of one or two pieces, not
//           of 16, and trimmed_mb 0. reuse_us is a few us, after_trim_us about 100: the pool asks the system again.
// Measured: 1.16x step 11, 0.54 of the link at 2^26 (H200); 1.07x, 0.57 (H100).
// Why:      at 2^20, with one piece of 4 MiB, the pool holds 32 MiB, too: it grows by 32 MiB (hypothesis, not tested).
// Next:     when may a piece in another stream get this memory?
// needs: gpu
#include "memory.cuh"

#include <cstdint>

constexpr std::size_t kPiece = std::size_t{1} << 22;  // floats

static void whole(const float* x, float* y, std::size_t n) {
  for (std::size_t begin = 0; begin < n; begin += kPiece) {
    const std::size_t count = std::min(kPiece, n - begin), bytes = count * sizeof(float);
    float* z = nullptr;
    CUDA_CHECK(cudaMallocAsync(&z, bytes, nullptr));
    CUDA_CHECK(cudaMemcpyAsync(z, x + begin, bytes, cudaMemcpyHostToDevice));
    memory_double<<<ceil_div(count, 256), 256>>>(z, count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(y + begin, z, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFreeAsync(z, nullptr));  // after the copy; the host doesn't wait
  }
}

class Pool : public Transfer {
 public:
  Pool() : Transfer(ladder::Place::pinned, nullptr, nullptr, whole) {}
  std::vector<ladder::Figure> figures(const ladder::Arrays& host, const ladder::Size& size) const override {
    cudaMemPool_t pool;
    CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t most = UINT64_MAX, held = 0;
    CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most));  // keeps all until trimmed
    const auto trim = [&] { CUDA_CHECK(cudaMemPoolTrimTo(pool, 0)); };
    const auto megabytes = [&] {  // held by the pool
      CUDA_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held));
      return 1e-6 * static_cast<double>(held);
    };
    const auto use = [&] {
      void* z = nullptr;
      CUDA_CHECK(cudaMallocAsync(&z, kPiece * sizeof(float), nullptr));
      CUDA_CHECK(cudaFreeAsync(z, nullptr));
    };
    trim();  // releases what earlier runs left
    run(host, size);
    CUDA_CHECK(cudaDeviceSynchronize());
    const double reserved = megabytes();
    trim();
    const double trimmed = megabytes(), reuse = median_us([] {}, use), after_trim = median_us(trim, use);
    return {{"reserved_mb", reserved}, {"trimmed_mb", trimmed}, {"reuse_us", reuse}, {"after_trim_us", after_trim}};
  }
};

// x and y are pinned: cudaMallocHost(&x, n * sizeof(float)), cudaFreeHost(x).
LADDER_STEP(Pool);
