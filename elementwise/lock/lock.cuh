// Updates records of four numbers under a lock.
// Element v of x belongs to record v mod m (v taken as unsigned). A record has a count, a sum mod 2^32, an exclusive or
// and a maximum; each element updates all four. records holds m of them, contiguously; their initial values count, too.
// The order of updates doesn't matter. Exact: bit-equal.
// practice: hard, next math
#pragma once
#include "../elementwise.cuh"

#include <vector>

__host__ __device__ inline std::size_t record_of(int v, std::size_t m) { return static_cast<unsigned>(v) % m; }

// The contribution of one or more elements to a record.
struct Update {
  int count, sum, bits, most;
};
__host__ __device__ inline Update update_of(int v) { return {1, v, v, v}; }

// Applies an update, not atomically: the caller must own the record.
__host__ __device__ inline void apply(int* record, const Update& update) {
  record[0] = static_cast<int>(static_cast<unsigned>(record[0]) + static_cast<unsigned>(update.count));
  record[1] = static_cast<int>(static_cast<unsigned>(record[1]) + static_cast<unsigned>(update.sum));
  record[2] ^= update.bits;
  record[3] = record[3] < update.most ? update.most : record[3];
}

// Returns m open locks.
inline unsigned* open_locks(std::size_t m) {
  auto* const locks = scratch<unsigned, struct Locks>(m);
  CUDA_CHECK(cudaMemsetAsync(locks, 0, m * sizeof(unsigned)));
  return locks;
}

class Lock : public Elementwise {
 public:
  // x holds n integers, records 4 m, m >= 1; no overlap. n = 0 changes nothing.
  using Launch = void (*)(const int* x, int* records, std::size_t n, std::size_t m);

  explicit Lock(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "lock"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", 1 << 12, 3001, std::size_t{1} << 32}, {"m", 64, 64, kMostRecords}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[1] == 0) throw ladder::UsageError("--m: there is at least 1 record");
    return {ladder::input<int>("x", size[0]), ladder::inout<int>("records", 4 * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const int>(0), device.at<int>(1), size[0], size[1]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t first = range.begin / 4, end = (range.end + 3) / 4;
    std::vector<int> records(host.at<const int>(1) + 4 * first, host.at<const int>(1) + 4 * end);
    for (std::size_t i = 0; i < size[0]; ++i) {
      const int v = host.at<const int>(0)[i];
      const std::size_t record = static_cast<unsigned>(v) % size[1];
      if (record < first || record >= end) continue;
      int* own = &records[4 * (record - first)];
      own[0] = static_cast<int>(static_cast<unsigned>(own[0]) + 1);
      own[1] = static_cast<int>(static_cast<unsigned>(own[1]) + static_cast<unsigned>(v));
      own[2] ^= v;
      own[3] = std::max(own[3], v);
    }
    for (std::size_t k = range.begin; k < range.end; ++k) {
      want[k - range.begin] = records[k - 4 * first];
      scale[k - range.begin] = 0;
    }
  }
  // "one record": all elements need the same lock. "pairs": lanes 2 k and 2 k + 1 do.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, any_integer}, {"one record", true, one_record}, {"pairs", true, pairs}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 3},   {1, 1},   {2, 1},    {31, 7},   {32, 1},    {33, 2},   {100, 300},
            {255, 4}, {257, 5}, {513, 64}, {1025, 3}, {700, 257}, {1100, 1}, {2049, 1000}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
  // 4, 64 and 16384 records: contention falls. n is small, because with one lock the time grows with its square: each
  // update waits for an attempt of all the others.
  std::vector<ladder::Size> bench_sizes() const override { return {{1 << 12, 4}, {1 << 12, 64}, {1 << 12, 1 << 14}}; }
  // At most 2^15 elements, so that they do not take long even if all belong to one record.
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t n = draw.length(static_cast<std::size_t>(std::min(std::max(bytes / 8, 1.0), 32768.0)));
    const double left = (bytes - 4.0 * static_cast<double>(n)) / 32;
    return {n, draw.near(static_cast<std::size_t>(std::min(std::max(left, 1.0), 1.0 * kMostRecords)))};
  }
  double bytes(const ladder::Size& size) const override {
    return 4.0 * static_cast<double>(size[0]) + 32.0 * static_cast<double>(size[1]);
  }

 private:
  static constexpr std::size_t kMostRecords = 1 << 27;

  static double any_integer(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return static_cast<std::int32_t>(ladder::hash(seed, buffer, i) >> 32);
  }
  static double one_record(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? 12345.0 : any_integer(seed, buffer, i, n);
  }
  static double pairs(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return any_integer(seed, buffer, buffer == 0 ? i / 2 : i, n);
  }

  Launch launch_;
};
