// Problem:  step 08 pins every page for one copy. Step 01 leaves the staging to the driver.
// Idea:     stage by hand: the host copies a chunk into pinned memory while the copy engine moves the one before. On the
//           way in the staging memory is write-combined: the host's stores bypass its caches, and it is never read.
// Expect:   0.6 to 1.5x step 01: one CPU thread copies, as the driver's does. Nothing here makes that copy faster.
// Measured: 0.73x step 08, 0.06 of the link at 2^26 (H200).
// Next:     and on the way out: why is that staging memory not write-combined?
#include "../stream_handles.cuh"
#include "memory.cuh"

#include <cstring>

constexpr std::size_t kChunk = 1 << 16, kBuffers = 2;  // floats

// Two buffers of a chunk each, kept to the end: cudaHostAllocDefault, or cudaHostAllocWriteCombined.
template <unsigned kind>
static float* staging() {
  static float* memory = nullptr;
  if (!memory) CUDA_CHECK(cudaHostAlloc(&memory, kBuffers * kChunk * sizeof(float), kind));
  return memory;
}

static void copy_in(const float* x, float* z, std::size_t n) {
  for (std::size_t begin = 0, c = 0; begin < n; begin += kChunk, ++c) {
    const std::size_t bytes = std::min(kChunk, n - begin) * sizeof(float), b = c % kBuffers;
    float* const buffer = staging<cudaHostAllocWriteCombined>() + b * kChunk;
    CUDA_CHECK(cudaEventSynchronize(event_number(b)));  // its last copy is done; at first, nothing to wait for
    std::memcpy(buffer, x + begin, bytes);
    CUDA_CHECK(cudaMemcpyAsync(z + begin, buffer, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaEventRecord(event_number(b)));
  }
}

static void copy_out(const float* z, float* y, std::size_t n) {
  float* const buffers = staging<cudaHostAllocDefault>();
  const std::size_t chunks = ceil_div(n, kChunk);
  const auto bytes = [&](std::size_t c) { return std::min(kChunk, n - c * kChunk) * sizeof(float); };
  for (std::size_t c = 0; c <= chunks; ++c) {
    if (c < chunks) {
      float* const buffer = buffers + c % kBuffers * kChunk;
      CUDA_CHECK(cudaMemcpyAsync(buffer, z + c * kChunk, bytes(c), cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaEventRecord(event_number(kBuffers + c % kBuffers)));
    }
    if (c == 0) continue;  // then the chunk before
    CUDA_CHECK(cudaEventSynchronize(event_number(kBuffers + (c - 1) % kBuffers)));
    std::memcpy(y + (c - 1) * kChunk, buffers + (c - 1) % kBuffers * kChunk, bytes(c - 1));
  }
}

// Also how fast the host writes and reads write-combined memory, in GB/s.
class Staged : public Transfer {
 public:
  Staged() : Transfer(ladder::Place::pageable, copy_in, copy_out) {}
  std::vector<ladder::Figure> figures(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<ladder::Figure> all = Transfer::figures(host, size);
    constexpr std::size_t bytes = kChunk * sizeof(float);
    std::vector<float> own(kChunk);
    float* const combined = staging<cudaHostAllocWriteCombined>();
    const auto gbps = [](double us) { return 1e-3 * bytes / us; };
    all.push_back({"combined_write_gbps", gbps(median_us([] {}, [&] { std::memcpy(combined, own.data(), bytes); }))});
    all.push_back({"combined_read_gbps", gbps(median_us([] {}, [&] { std::memcpy(own.data(), combined, bytes); }))});
    return all;
  }
};

// x and y are pageable: x = malloc(n * sizeof(float)), free(x).
LADDER_STEP(Staged);
