// RoPE of new keys, written to a KV cache in BF16.
// For each token t with slot[t] >= 0: key_cache[slot[t]] = k[t], its heads rotated for position[t], and
// value_cache[slot[t]] = v[t]. A negative slot is padding: that token is not stored. All other slots are unchanged.
// Pair i of a head of d elements is rotated by position * 10000^(-2 i / d): a' = a cos - b sin, b' = a sin + b cos. The
// two elements are neighbours, or half a head apart (halves). Sines, cosines and products are FP32; a rotated element
// is rounded to BF16 once, ties to even.
// practice: medium, next embedding
#pragma once
#include "rope_reference.hpp"

#include <cuda_bf16.h>

class RopeCache : public ladder::Problem {
 public:
  // k and v are tokens x heads x d, the caches slots x heads x d, without gaps, in BF16. They do not overlap; 2-byte
  // alignment is enough. position has an int per token, 0 to 2^24. slot has an int per token, below the number of
  // slots; those >= 0 are all different. d is even, 2 to 1024; tokens <= 2^30 and heads <= 2^20 may be 0.
  using Launch = void (*)(const __nv_bfloat16* k, const __nv_bfloat16* v, const int* position, const int* slot,
                          __nv_bfloat16* key_cache, __nv_bfloat16* value_cache, std::size_t tokens, std::size_t heads,
                          std::size_t d, bool halves);

  explicit RopeCache(Launch launch, bool has_scratch = false) : launch_(launch), has_scratch_(has_scratch) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "rope_cache"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"tokens", 65536, 37, 1 << 30},
            {"heads", 8, 5, std::size_t{1} << 20},
            {"pairs", 64, 32, kMostWidth / 2},
            {"halves", 0, 0, 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require_heads(size[0], size[1], size[2]);
    const std::size_t row = size[1] * 2 * size[2];
    return {ladder::input<__nv_bfloat16>("k", size[0] * row),
            ladder::input<__nv_bfloat16>("v", size[0] * row),
            ladder::input<int>("position", size[0]),
            ladder::input<int>("slot", size[0]),
            ladder::inout<__nv_bfloat16>("key_cache", slots(size[0]) * row),
            ladder::inout<__nv_bfloat16>("value_cache", slots(size[0]) * row)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const int>(2),
            device.at<const int>(3), device.at<__nv_bfloat16>(4), device.at<__nv_bfloat16>(5), size[0], size[1],
            2 * size[2], size[3] != 0);
  }

  // Returns the token stored in each slot, -1 if there is none.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> token(slots(size[0]), -1.0);
    for (std::size_t t = 0; t < size[0]; ++t) {
      const int slot = host.at<const int>(3)[t];
      if (slot >= 0) token.at(static_cast<std::size_t>(slot)) = static_cast<double>(t);
    }
    return token;
  }
  // Values, and slots without a token, must be bit-equal. A rotated element is one of the BF16 numbers from BF16(x - E)
  // to BF16(x + E), where E is the error bound in FP32 (rope_reference.hpp), because rounding is monotonic.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t d = 2 * size[2], row = size[1] * d;
    const bool keys = range.buffer == 4;
    for (std::size_t n = range.begin; n < range.end; ++n) {
      double &w = want[n - range.begin], &s = scale[n - range.begin];
      const double token = host.digest()[n / row];
      const std::size_t from = token < 0 ? n : static_cast<std::size_t>(token) * row + n % row;
      s = 0;
      if (token < 0 || !keys) {
        w = static_cast<float>(host.at<const __nv_bfloat16>(token < 0 ? range.buffer : 1)[from]);
        continue;
      }
      const std::size_t c = n % d;
      const Rotated right = rotated(host.at<const __nv_bfloat16>(0) + (from - c), c, d, size[3] != 0,
                                    host.at<const int>(2)[static_cast<std::size_t>(token)]);
      w = to_bf16(right.value);
      if (std::isfinite(w))
        s = std::fmax(to_bf16(right.value + right.error) - w, w - to_bf16(right.value - right.error));
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"position 0", true, at_zero},
            {"long", false, far},
            {"padding", false, padding},
            {"one NaN", false, one_special<&std::numeric_limits<double>::quiet_NaN>},
            {"one infinity", false, one_special<&std::numeric_limits<double>::infinity>}};
  }
  // As for rope; also around vectors of 8 elements, for which d must be a multiple of 8, or of 16 with halves.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const ladder::Size& size : std::initializer_list<ladder::Size>{
             {0, 3, 4},  {3, 0, 4},   {1, 1, 1},   {5, 3, 1},   {4, 3, 2},   {7, 1, 3},  {3, 5, 4},
             {2, 3, 5},  {3, 2, 12},  {3, 3, 8},   {2, 7, 10},  {5, 2, 17},  {2, 5, 32}, {3, 4, 48},
             {9, 5, 64}, {2, 33, 65}, {70, 1, 32}, {1, 3, 512}, {2, 2, 511}, {3, 9, 128}}) {
      for (const std::size_t halves : {0, 1}) sizes.push_back({size[0], size[1], size[2], halves});
    }
    return sizes;
  }
  // More than 2^31 elements of k, and twice as many of a cache.
  std::vector<ladder::Size> huge_sizes() const override { return {{(1 << 21) + 3, 8, 64, 1}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{65536, 8, 64, 1}, {65536, 8, 64, 0}, {262144, 8, 32, 1}, {64, 8, 64, 1}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, 0, 0, draw.below(2)});
  }
  double flops(const ladder::Size& size) const override {
    return 6.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }
  // k and v are read once and written once.
  double bytes(const ladder::Size& size) const override {
    return 16.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }
  double scratch_bytes(const ladder::Size& size) const override { return has_scratch_ ? bytes(size) / 4 : 0; }

 private:
  static std::size_t slots(std::size_t tokens) { return 2 * tokens + 1; }
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }

  // Slots of different tokens differ: i * a mod m takes each value once if a and m have no common factor.
  static double slot(std::uint64_t seed, std::size_t i, std::size_t tokens) {
    constexpr std::size_t prime = 1000003;
    const std::size_t m = slots(tokens);
    return static_cast<double>((i * (m % prime == 0 ? 1 : prime) + seed % 1024) % m);
  }
  static double common(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n, double position) {
    if (buffer == 2) return position;
    return buffer == 3 ? slot(seed, i, n) : ladder::patterns::random(seed, buffer, i, n);
  }
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return common(seed, buffer, i, n, static_cast<double>(ladder::hash(seed, buffer, i) % 2048));
  }
  static double at_zero(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 2 || buffer == 3 ? common(seed, buffer, i, n, 0) : ladder::patterns::integers(seed, buffer, i, n);
  }
  static double far(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return common(seed, buffer, i, n, long_position(seed, buffer, i));
  }
  // Every third token has no slot.
  static double padding(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 3 && i % 3 == 0 ? -1 : common(seed, buffer, i, n, long_position(seed, buffer, i));
  }
  template <double (*kValue)() noexcept>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer < 2 && i == n / 2;
    return here ? kValue() : common(seed, buffer, i, n, short_position(seed, buffer, i));
  }

  Launch launch_;
  bool has_scratch_;
};
