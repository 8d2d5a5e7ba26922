// Problem:  step 04 keeps 4096 rows and loads by float4: with more or fewer rows, or rows that are not aligned, it has
//           0.1 to 0.6 of a copy. A cluster ends at 8 blocks.
// Idea:     teams of any number of blocks, which pass pairs through global memory. A block has whatever rows fit its
//           threads' registers, loads them by floats, and ends with its tile: others load while it waits.
// Expect:   0.6 to 0.75 of a copy at most shapes; less than step 04 at 4096 x 4096, whose clusters exchange faster.
// Measured: 0.85x step 04, 58x cuDNN at 4096x4096 (H200).
// Next:     which rule would pick between steps 04 and 05?
#include "col_softmax.cuh"
#include "col_team.cuh"

// Few rows: wide tiles, so that a thread has several. Rows that are not aligned: wide ones too, since each piece of a
// row touches a line more than it fills; until a team would be large.
static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool wide = rows <= 128 || (cols % 8 != 0 && rows <= 8192);
  const auto run = rows <= 4    ? Rows4::start
                   : rows <= 16 ? Rows16::start
                   : rows <= 64 ? Rows64::start
                   : cols <= 16 ? FewColumns::start
                   : wide       ? Wide::start
                                : Narrow::start;
  run(x, y, rows, cols);
}

static std::size_t roundings(std::size_t rows) {
  if (rows <= 4) return Rows4::team_roundings(rows);
  if (rows <= 16) return Rows16::team_roundings(rows);
  if (rows <= 64) return Rows64::team_roundings(rows);
  return std::max({FewColumns::team_roundings(rows), Wide::team_roundings(rows), Narrow::team_roundings(rows)});
}

LADDER_STEP(ColSoftmax, launch, roundings);
