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
constexpr NormShape kNormShapes[] = {{19, 4, 1, 256},   {67, 8, 2, 256},     {131, 8, 4, 256},    {259, 16, 4, 256},
                                     {323, 16, 5, 256}, {387, 32, 3, 256},   {515, 32, 4, 256},   {1027, 32, 8, 128},
                                     {2051, 64, 8, 64}, {4099, 128, 8, 128}, {8195, 256, 8, 256}, {16387, 512, 8, 512}};
constexpr std::size_t kNormShapeCount = sizeof kNormShapes / sizeof kNormShapes[0];

// The index in the table, or kNormShapeCount: a team of blocks takes the row.
inline std::size_t norm_shape(std::size_t cols) { return first_long_enough(kNormShapes, cols); }

// thread: norm_thread_per_row.cuh; registers: norm_registers.cuh; team: norm_teams.cuh, or norm_read_twice.cuh for rows that the GPU
// does not keep. by_shape: the kernel of layer_norm 08 or of rms_norm 03 and add_rms_norm 03, which needs sm_90.
enum class NormPath { thread, by_shape, registers, team };
constexpr std::size_t kThinCols = 8;  // with two lanes or more per row, most of the lanes would have no element

// Of the steps named teams: kernels that any GPU runs.
inline NormPath norm_path(std::size_t cols) {
  if (cols <= kThinCols) return NormPath::thread;
  return norm_shape(cols) < kNormShapeCount ? NormPath::registers : NormPath::team;
}

constexpr std::size_t kByShapeShort = 16;     // what by_shape's first layout takes: a float4 for each of 4 threads
constexpr std::size_t kByShapeBlock = 32768;  // elements of a row that a block of by_shape keeps

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
inline NormPath norm_path_by_shape(std::size_t cols, bool aligned, std::size_t least) {
  const NormPath other = norm_path(cols);
  if (other == NormPath::thread) return other;
  if (cols <= kByShapeShort) return NormPath::by_shape;
  const bool by_shape = other == NormPath::registers ? cols >= least : cols <= kByShapeBlock;
  return aligned && by_shape ? NormPath::by_shape : other;
}

// How a matrix is spread: `teams` teams of `team` blocks each, and `share` float4 of a row for each block of a team.
// team is 0 if all blocks together do not keep a row.
struct TeamPlan {
  unsigned teams, team, share;
};

// A team is as small as a row allows, and then takes what is left of the GPU, as long as each of a block's `threads` has
// a float4. `resident` blocks run together, and each keeps up to `most` float4 of a row, a multiple of 8. rows and cols
// are not 0.
inline TeamPlan team_plan(std::size_t rows, std::size_t cols, std::size_t resident, std::size_t most,
                          std::size_t threads) {
  const std::size_t lines = std::max<std::size_t>((cols / 4 + 7) / 8, 1);  // of 8 float4
  const std::size_t needed = (lines + most / 8 - 1) / (most / 8);
  if (needed > resident) return {0, 0, 0};
  const std::size_t at_once = std::min(rows, resident / needed);
  const std::size_t rounds = (rows + at_once - 1) / at_once, teams = (rows + rounds - 1) / rounds;
  const std::size_t team = std::min(resident / teams, std::max<std::size_t>(lines / (threads / 8), 1));
  return {static_cast<unsigned>(teams), static_cast<unsigned>(team),
          static_cast<unsigned>((lines + team - 1) / team * 8)};
}
