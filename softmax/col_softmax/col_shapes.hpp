// Which kernel col_softmax 06 takes for which matrix. Apart from the step, so that a test can ask.
#pragma once
#include <cstddef>

// A cluster of `blocks` blocks of `block` threads shares a tile of 4 * lanes columns. A thread has 8 float4 in
// registers and as many in shared memory: of the same tile, or, with `ahead`, of the next one.
struct ColShape {
  std::size_t tallest;  // column for which it is meant
  unsigned lanes, block, blocks;
  bool ahead, aligned;
  constexpr std::size_t kept() const { return std::size_t{blocks} * (block / lanes) * (ahead ? 8 : 16); }
};

// Aligned rows: tiles 32 columns wide, pieces of 128 bytes, and as few blocks as hold the tile: a block more is one
// more to wait for. Where registers alone hold the tile, shared memory can take the next one; that was faster at 1024
// and at 4096 rows. Rows that are not aligned: a piece of a row touches a sector more than it fills, so tiles are
// wider.
constexpr ColShape kColShapes[] = {
    {128, 32, 512, 1, false, true},   {512, 8, 256, 1, false, true},    {768, 8, 512, 1, false, true},
    {1024, 8, 512, 2, true, true},    {2048, 8, 512, 2, false, true},   {2816, 8, 512, 4, false, true},
    {4096, 8, 512, 8, true, true},    {8192, 8, 512, 8, false, true},   {16384, 8, 512, 16, false, true},
    {256, 32, 512, 1, false, false},  {512, 32, 512, 2, false, false},  {1024, 32, 512, 4, false, false},
    {2048, 32, 512, 8, false, false}, {4096, 16, 512, 8, false, false},
};
constexpr std::size_t kColShapeCount = sizeof kColShapes / sizeof kColShapes[0];
constexpr std::size_t kFourBlocks = 5, kEightBlocks = 7, kUnaligned = 9;  // places in the table

// May each column have a thread of its own? Up to 16 rows always; up to 64, which take 80 registers, if there are
// columns for 1000 threads on each of 132 SMs.
constexpr std::size_t kManyColumns = 1 << 17;
inline bool few_rows(std::size_t rows, std::size_t cols) { return rows <= 16 || (rows <= 64 && cols >= kManyColumns); }

// Up to this many columns there are 32 tiles at most. A tile then gets more blocks than it needs: more SMs work.
constexpr std::size_t kFewColumns = 1024;
// Where rows are not aligned tiles are wide, and few; with fewer blocks than these, narrow teams keep more SMs busy.
constexpr std::size_t kEnoughBlocks = 128;

// aligned: x, y and all rows are 16-byte aligned. Returns kColShapeCount for teams, as in step 05. They take what no
// cluster holds, and up to 64 rows, for which they have tiles of their own.
inline std::size_t col_shape(std::size_t rows, std::size_t cols, bool aligned) {
  if (rows <= 64) return kColShapeCount;
  if (aligned && cols <= kFewColumns && rows > 128) {
    return rows <= 2048 ? kFourBlocks : rows <= 8192 ? kEightBlocks : kColShapeCount;
  }
  for (std::size_t i = aligned ? 0 : kUnaligned; i < (aligned ? kUnaligned : kColShapeCount); ++i) {
    const ColShape& s = kColShapes[i];
    if (rows > s.tallest) continue;
    const std::size_t tiles = (cols + 4 * s.lanes - 1) / (4 * s.lanes);
    return aligned || tiles * s.blocks >= kEnoughBlocks ? i : kColShapeCount;
  }
  return kColShapeCount;
}
