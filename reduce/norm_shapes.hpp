// Which kernel the last two steps of layer_norm, rms_norm and add_rms_norm take for which rows. Apart from the steps,
// so that a test can ask.
#pragma once
#include "shape_table.hpp"

#include <algorithm>

// `threads` threads take a row of up to `longest` elements, `kept` float4 each: 4 * threads * kept elements, and 3 more
// where the row's edges are peeled off.
struct NormShape {
  std::size_t longest;
  unsigned threads, kept, block;
};

// More float4 per thread before more threads: independent loads keep memory busy, and fewer threads merge faster.
constexpr NormShape kNormShapes[] = {{19, 4, 1, 256},     {67, 8, 2, 256},     {131, 8, 4, 256},  {259, 16, 4, 256},
                                     {515, 32, 4, 256},   {1027, 32, 8, 128},  {2051, 64, 8, 64}, {4099, 128, 8, 128},
                                     {8195, 256, 8, 256}, {16387, 512, 8, 512}};
constexpr std::size_t kNormShapeCount = sizeof kNormShapes / sizeof kNormShapes[0];

// The index in the table, or kNormShapeCount: a team of blocks takes the row.
inline std::size_t norm_shape(std::size_t cols) { return first_long_enough(kNormShapes, cols); }

// thread: norm_thin.cuh; registers: norm_registers.cuh; team: norm_teams.cuh. by_shape: the kernel of layer_norm 08 or
// of rms_norm 03 and add_rms_norm 03, which needs sm_90.
enum class NormPath { thread, by_shape, registers, team };
constexpr std::size_t kThinCols = 8;  // with two lanes or more per row, most of the lanes would have no element

// Of the steps named teams: kernels that any GPU runs.
inline NormPath norm_path(std::size_t cols) {
  if (cols <= kThinCols) return NormPath::thread;
  return norm_shape(cols) < kNormShapeCount ? NormPath::registers : NormPath::team;
}

constexpr std::size_t kByShapeShort = 16;        // what by_shape's first layout takes: a float4 for each of 4 threads
constexpr std::size_t kByShapeBlock = 32768;     // elements of a row that a block of by_shape keeps
constexpr std::size_t kByShapeCluster = 131072;  // and a cluster of 8 blocks

// How long rows must be for by_shape's layout for them, which keeps `keeps` elements. Of layer_norm by_shape wins with
// full layouts and with one filled to 0.78, and loses to registers, which have layouts for more lengths, with 0.35 to
// 0.58 of one: many threads have nothing to load. The other norms read an array less, and by_shape has 0.94 to 0.98 of
// a copy with 0.53 and 0.56 (H200).
constexpr std::size_t least_of_layer_norm(std::size_t keeps) { return keeps / 4 * 3; }
constexpr std::size_t least_of_rms_norm(std::size_t keeps) { return keeps / 2; }

// Of the steps named any_shape. aligned: all rows, gamma and beta start at multiples of 16 bytes. least: how long
// rows must be for by_shape's layout. The bounds are from times of both kernels, on an H200.
// - 9 to 16 elements: peeled, most of a row would be edges, and each costs a load. by_shape.
// - Aligned rows that registers can keep: by_shape, which has nothing to peel, is 2 to 9 % faster where a row fills its
//   layout, and up to 41 % slower (layer_norm, 1440) where it does not.
// - Longer aligned rows that one block keeps: by_shape is 1 to 15 % faster, as no team waits.
// - Aligned rows that fill at least half of a cluster of 8 blocks: by_shape, if two arrays are read (`adds`), in
//   add_rms_norm, is 10 % faster; the others are as fast or slower there. With less than a half filled, or too few pairs
//   of rows for all SMs, a team.
inline NormPath norm_path_by_shape(std::size_t rows, std::size_t cols, bool aligned, bool adds, std::size_t least) {
  const NormPath other = norm_path(cols);
  if (other == NormPath::thread) return other;
  if (cols <= kByShapeShort) return NormPath::by_shape;
  if (!aligned) return other;
  const bool fills_cluster = cols > kByShapeCluster / 2 && cols <= kByShapeCluster && rows >= 32;
  const bool by_shape = other == NormPath::registers ? cols >= least : cols <= kByShapeBlock || (adds && fills_cluster);
  return by_shape ? NormPath::by_shape : other;
}

constexpr unsigned kTeamBlock = 256, kTeamKept = 8;         // threads of a block, and float4 of each in registers
constexpr std::size_t kTeamShare = kTeamBlock * kTeamKept;  // float4 of a row that a block's registers hold

// How a matrix is spread: `teams` teams of `team` blocks each, and `share` float4 of a row for each block of a team.
// scales: gamma and beta stay in shared memory; else shared memory has `chunks` float4 of a row for each thread, and
// what is longer is read again.
struct TeamPlan {
  bool scales;
  unsigned teams, team, share, chunks;
};

// A team is as small as its registers allow, and then takes what is left of the GPU. Gamma and beta are kept if a team
// has several rows. Of blocks that keep them `with_scales` are resident together (0: too large), of others `without`,
// which have room for `most_chunks`. rows and cols are not 0.
inline TeamPlan team_plan(std::size_t rows, std::size_t cols, std::size_t with_scales, std::size_t without,
                          unsigned most_chunks) {
  const std::size_t lines = std::max<std::size_t>((cols / 4 + 7) / 8, 1);  // of 8 float4
  const std::size_t needed = (lines + kTeamShare / 8 - 1) / (kTeamShare / 8);
  const auto spread = [&](std::size_t resident) {
    const std::size_t most = std::max<std::size_t>(std::min(rows, resident / needed), 1);
    const std::size_t rounds = (rows + most - 1) / most, teams = (rows + rounds - 1) / rounds;
    const std::size_t team = std::min(resident / teams, std::max<std::size_t>(lines / (kTeamBlock / 8), 1));
    return TeamPlan{true, static_cast<unsigned>(teams), static_cast<unsigned>(team),
                    static_cast<unsigned>((lines + team - 1) / team * 8), 0};
  };
  if (with_scales >= needed) {
    const TeamPlan plan = spread(with_scales);
    if (plan.teams < rows) return plan;
  }
  TeamPlan plan = spread(without);
  plan.scales = false;
  const std::size_t more = plan.share - std::min<std::size_t>(plan.share, kTeamShare);
  plan.chunks = static_cast<unsigned>(std::min<std::size_t>((more + kTeamBlock - 1) / kTeamBlock, most_chunks));
  return plan;
}
