// Which kernel attention 10 and attention_bf16 05 take for how many queries, and into how many parts the keys are cut.
// Apart from the steps, so that a test can ask.
#pragma once
#include <algorithm>
#include <cstddef>

inline std::size_t queries_of_warp(std::size_t queries) { return queries == 1 ? 1 : 4; }

// Are there too few queries for step 09? A block of it takes as long for one query as for 64; in that time the warps of
// step 10 do 13. With fewer blocks than 5/4 of the SMs step 09 takes no less time (both measured, see the chapter).
inline bool few_queries(std::size_t heads, std::size_t queries, std::size_t sms) {
  constexpr std::size_t queries_of_block = 64, worth = 12;
  const std::size_t blocks = heads * ((queries + queries_of_block - 1) / queries_of_block),
                    warp = queries_of_warp(queries);
  return heads * ((queries + warp - 1) / warp * warp) <= worth * std::max(blocks, sms + sms / 4);
}

// The same for attention_bf16: are there so few queries that step 04's warps, for 16 each, take less time than step
// 03's blocks, for 192 at d = 64 and 128 at d = 128? While an SM computes a block, its warps do one and a half tiles of
// 16 (measured, see the chapter). The blocks come in rounds, one per SM. Both compute whole tiles of keys, 16 or 128; to
// start and to store takes a block the time of a tile more.
constexpr double kTilesOfBlock = 1.5;

inline bool few_queries_bf16(std::size_t heads, std::size_t queries, std::size_t keys, std::size_t d, std::size_t sms) {
  const auto tiles = [](std::size_t n, std::size_t tile) { return (n + tile - 1) / tile; };
  const std::size_t rounds = tiles(heads * tiles(queries, d == 64 ? 192 : 128), sms);
  const std::size_t warp_keys = tiles(keys, 16) * 16, block_keys = tiles(keys, 128) * 128 + 128;
  return static_cast<double>(heads * tiles(queries, 16)) * static_cast<double>(warp_keys) <=
         kTilesOfBlock * static_cast<double>(sms * rounds) * static_cast<double>(block_keys);
}

// The keys of a part. As many parts as fill the GPU once: `tiles` warps take each key, `resident` run at once. Parts of
// fewer than 128 keys are not worth their merge.
constexpr std::size_t kLeastPart = 128;
inline std::size_t keys_of_part(std::size_t tiles, std::size_t keys, std::size_t resident) {
  const std::size_t parts = std::max<std::size_t>(1, resident / tiles);
  return std::max(kLeastPart, (keys + parts - 1) / parts);
}
