// Which kernel attention 10 and attention_bf16 05 take for how many queries, and into how many parts the keys are cut.
// Apart from the steps, so that a test can ask.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

// The keys of a part. As many parts as fill the GPU once: `tiles` warps take each key, `resident` run at once. A warp
// that is alone on its SM waits for its loads, so short parts are soon done; but a second kernel merges them. So none
// is shorter than `least`, and what makes two of that length stays whole.
inline std::size_t keys_of_part(std::size_t tiles, std::size_t keys, std::size_t resident, std::size_t least) {
  if (keys <= 2 * least) return 2 * least;
  const std::size_t parts = std::max<std::size_t>(1, resident / tiles);
  return std::max(least, (keys + parts - 1) / parts);
}
constexpr std::size_t kLeastPart = 16, kLeastPartBf16 = 32;  // attention 10 loads 4 or 8 keys at a time, BF16 16

inline std::size_t queries_of_warp(std::size_t queries) { return queries == 1 ? 1 : 4; }

// Are there too few queries for attention 09? A block of it takes as long for one query as for 64; in that time the
// warps of step 10 do 13, or 17 at d = 64. With fewer blocks than 5/4 of the SMs step 09 takes no less time (all
// measured, see the chapter).
inline bool few_queries(std::size_t heads, std::size_t queries, std::size_t d, std::size_t sms) {
  constexpr std::size_t queries_of_block = 64;
  const std::size_t worth = d == 64 ? 16 : 12;
  const std::size_t blocks = heads * ((queries + queries_of_block - 1) / queries_of_block),
                    warp = queries_of_warp(queries);
  return heads * ((queries + warp - 1) / warp * warp) <= worth * std::max(blocks, sms + sms / 4);
}

// For attention_bf16: the times of step 03's kernel, of blocks for 192 or 128 queries, and of step 04's, of warps for
// 16, in microseconds. All rates are fitted to 124 shapes on an H200; the mean error is 6 %, and the kernel that is
// chosen takes at most 1.1 times as long as the other.
struct Bf16Times {
  std::size_t heads, queries, keys, d;
  bool causal;
  std::size_t sms;

  double blocks() const {
    const std::size_t rows = d == 64 ? 192 : 128;
    const double tile = 1.5, start = 1.0, first_and_last = d == 64 ? 0.3 : 1.1;  // of a block that is full: Q and O
    const double full = static_cast<double>(std::min(queries, rows)) / static_cast<double>(rows);
    const auto rounds = [&](std::size_t n) { return static_cast<double>(ceil(heads * ceil(n, rows), sms)); };
    const double work = rounds(queries) * (start + first_and_last * full) +
                        rounds(seeing()) * tile * static_cast<double>(ceil(keys, 128));
    return 5.5 + std::hypot(work, 0.83 * copy());
  }

  double warps() const {
    // A warp that has its scheduler for itself takes 1 us for 16 keys: it waits for each load. Many share the tensor
    // cores and the way from the L2 cache; Q, O and the start count as 36 keys.
    const double latency = 1.0 / 16, of_key = d == 64 ? 3.8e-3 : 8.2e-3, start = 36;
    const std::size_t resident = sms * (d == 64 ? 16 : 8), tiles = heads * ceil(queries, 16);
    const std::size_t part = keys_of_part(tiles, keys, resident, kLeastPartBf16),
                      parts = ceil(std::max(keys, part), part);
    const auto all = static_cast<double>(sms), n = static_cast<double>(parts);
    const double seen = mean_seen() / n;
    const auto busy = [&](std::size_t warps) { return static_cast<double>(warps) * of_key * (seen + start) / all; };
    const std::size_t rounds = tiles * parts / resident, rest = tiles * parts % resident;
    double work = static_cast<double>(rounds) * std::max(latency * seen, busy(resident));
    if (rest > 0) work += std::max(latency * static_cast<double>(std::min(keys, part)), busy(rest));
    const double partials =
        8 * static_cast<double>(heads * queries) * static_cast<double>(parts * d);  // bytes, written and read
    return 4.7 + std::hypot(work, copy()) + (parts > 1 ? 3.6 + partials / 3.0e6 : 0);
  }

 private:
  static std::size_t ceil(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
  // Q, K, V and O once, at 4.4 TB/s.
  double copy() const {
    return 4 * static_cast<double>(heads) * static_cast<double>(queries + keys) * static_cast<double>(d) / 4.4e6;
  }
  // The queries that see a key.
  std::size_t seeing() const { return causal ? std::min(queries, keys) : queries; }
  // The keys that a query sees, in the mean.
  double mean_seen() const {
    const auto q = static_cast<double>(queries), k = static_cast<double>(keys);
    return !causal ? k : queries <= keys ? k - q / 2 : k * k / 2 / q;
  }
};

inline bool few_queries_bf16(std::size_t heads, std::size_t queries, std::size_t keys, std::size_t d, bool causal,
                             std::size_t sms) {
  const Bf16Times times{heads, queries, keys, d, causal, sms};
  return times.warps() <= times.blocks();
}
