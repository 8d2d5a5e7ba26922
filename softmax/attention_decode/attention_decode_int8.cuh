// Decode attention over an int8 KV cache.
// Like attention_decode, but a row of K or V is 128 int8 numbers with one FP16 scale, and represents scale * number.
// There is no zero point, -128 is allowed, and scales may have any sign.
// practice: medium, next add
#pragma once
#include "decode_problem.cuh"

#include <cuda_fp16.h>

class AttentionDecodeInt8 : public DecodeProblem {
 public:
  // q and out are sequences x (kv_heads * groups) x 128, K and V sequences x keys x kv_heads x 128, their scales
  // sequences x kv_heads x keys, row-major without gaps: neighbouring keys have neighbouring scales. Sequence s has
  // lengths[s] keys, from 0 to `keys`. The arrays may hold anything after them, scales also NaN. Up to the length,
  // scores and scale * V are finite or NaN. Arrays do not overlap and need only be aligned to an element. Any dimension
  // may be 0.
  using Launch = void (*)(const __nv_bfloat16* q, const std::int8_t* K, const std::int8_t* V, const int* lengths,
                          const __half* k_scales, const __half* v_scales, float* out, std::size_t sequences,
                          std::size_t kv_heads, std::size_t groups, std::size_t keys);

  explicit AttentionDecodeInt8(Launch launch, bool on_tensor_cores = false)
      : DecodeProblem(on_tensor_cores), launch_(launch) {}

  const char* kernel() const override { return "attention_decode_int8"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    std::vector<ladder::Buffer> all =
        inputs<std::int8_t>(size, static_cast<double>(size[0]) * static_cast<double>(size[3]));
    all.push_back(ladder::input<__half>("k_scales", size[0] * size[1] * size[3]));
    all.push_back(ladder::input<__half>("v_scales", size[0] * size[1] * size[3]));
    all.push_back(result(size));
    return all;
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const std::int8_t>(1), device.at<const std::int8_t>(2),
            device.at<const int>(3), device.at<const __half>(kScales), device.at<const __half>(kScales + 1),
            device.at<float>(6), size[0], size[1], size[2], size[3]);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"last key", true, last_key},
            {"far below 0", false, far_below},
            {"large scores", false, large},
            {"equal scores", false, equal},
            {"NaN in scales of last keys", false, nan_in<kScales>},
            {"NaN in scales of last values", false, nan_in<kScales + 1>}};
  }
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    if (buffer == 0 || buffer == kLengths) return DecodeProblem::element(size, pattern, seed, buffer, i, n);
    const bool is_scale = buffer >= kScales;
    const Token token = is_scale ? Token{i / (size[1] * size[3]), i % size[3]} : token_of(size, i / (size[1] * kWidth));
    const std::size_t length = length_of(size, token.sequence);
    if (token.key >= length) return is_scale ? std::numeric_limits<double>::quiet_NaN() : 127;
    return pattern.value(seed, buffer, i, length - 1 - token.key);
  }

 private:
  static constexpr std::size_t kScales = 4;  // index of k_scales; v_scales follow

  // int8 times FP16 has 19 bits, so the reference uses exactly these numbers, and the bound has no quantization error.
  // A kernel may apply the scale to the number (exact), to a sum of q K or to p: one more rounding. What p times a
  // scale loses by underflow is multiplied by a byte of V, up to 128, at each key.
  Errors errors(std::size_t keys) const override {
    Errors all = DecodeProblem::errors(keys);
    all.score += 1;
    all.term += 1;
    all.underflow *= 128 * (static_cast<double>(keys) + 1);
    return all;
  }
  double bytes_of_key() const override { return 2.0 * kWidth + 2 * sizeof(__half); }
  void read_row(const ladder::Arrays& host, const ladder::Size& size, std::size_t buffer, Token token,
                std::size_t kv_head, float* to) const override {
    const std::int8_t* row =
        host.at<const std::int8_t>(buffer) + (slot_of(host, size, token) * size[1] + kv_head) * kWidth;
    const float scale = __half2float(
        host.at<const __half>(buffer - 1 + kScales)[(token.sequence * size[1] + kv_head) * size[3] + token.key]);
    for (std::size_t c = 0; c < kWidth; ++c) to[c] = scale * static_cast<float>(row[c]);
  }

  static double uniform(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return ladder::patterns::random(seed, buffer, i, 0);
  }
  static double any_byte(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return static_cast<double>(ladder::hash(seed, buffer, i) >> 56) - 128;
  }
  // Scores of about +-3, as in a trained model.
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    if (buffer == 0) return 8 * uniform(seed, buffer, i);
    return buffer < kScales ? any_byte(seed, buffer, i) : (uniform(seed, buffer, i) + 2) / 256;
  }
  // Each score is 181 above the previous one, for the last 250 keys, so out is exactly V of the last key.
  static double last_key(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    if (buffer == 2) return ladder::patterns::integers(seed, buffer, i, left);
    if (buffer == kScales + 1) return left % 2 == 0 ? 0.5 : -2;
    return buffer == 0 ? 16 : buffer == 1 ? -1 : static_cast<double>(std::min<std::size_t>(left, 250));
  }
  // All scores are about -140: a score of 0 that is counted by mistake outweighs them.
  static double far_below(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    if (buffer == 0) return 12 + uniform(seed, buffer, i);
    return buffer == 1         ? std::floor(-96 + 12 * uniform(seed, buffer, i))
           : buffer == kScales ? 1.0 / 96
                               : random(seed, buffer, i, left);
  }
  // Half of the scores are about +1400, the others about -1400.
  static double large(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    if (buffer == 0) return 125 + uniform(seed, buffer, i) / 8;
    if (buffer == 1) return std::floor(100 + 2 * uniform(seed, buffer, i));
    return buffer == kScales ? (ladder::hash(seed, buffer, i) % 2 ? 0.01 : -0.01) : random(seed, buffer, i, left);
  }
  static double equal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    return buffer == 0 ? 0 : random(seed, buffer, i, left);
  }
  template <std::size_t kBuffer>
  static double nan_in(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    const bool here = buffer == kBuffer && left == 0 && i % 2 == 0;
    return here ? std::numeric_limits<double>::quiet_NaN() : random(seed, buffer, i, left);
  }

  Launch launch_;
};
