// Which kernel row_softmax 11 and 12 take for which rows. Apart from the steps, so that a test can ask.
#pragma once
#include "shape_table.hpp"

// `threads` threads take a row, `kept` float4 each: 4 * threads * kept elements, and 3 more where the row's edges are
// peeled off. Staged rows come through shared memory, where a thread's elements need no alignment: there `kept` counts
// elements.
struct RowShape {
  std::size_t longest;
  unsigned threads, kept, block;
  bool staged;
};

// More float4 per thread before more threads: independent loads keep memory busy, and fewer threads merge faster. Four
// float4 from 68 elements on, eight from 516 on, then as many threads as the row needs. From 640 threads on one block is
// on an SM, and steps of 128 threads keep them busy. A row of 16 elements or fewer has a few aligned float4 or none;
// peeled, it would be mostly edge. A thread that has room for four elements takes as long for one.
constexpr RowShape kRowShapes[] = {
    {1, 1, 1, 256, true},        {2, 1, 2, 256, true},        {4, 1, 4, 256, true},         {8, 2, 4, 256, true},
    {16, 4, 4, 256, true},       {35, 4, 2, 256, false},      {67, 8, 2, 256, false},       {131, 8, 4, 256, false},
    {259, 16, 4, 256, false},    {515, 32, 4, 256, false},    {1027, 32, 8, 128, false},    {2051, 64, 8, 64, false},
    {4099, 128, 8, 128, false},  {8195, 256, 8, 256, false},  {16387, 512, 8, 512, false},  {20483, 640, 8, 640, false},
    {24579, 768, 8, 768, false}, {28675, 896, 8, 896, false}, {32771, 1024, 8, 1024, false}};
constexpr std::size_t kRowShapeCount = sizeof kRowShapes / sizeof kRowShapes[0];

// The index in the table, or kRowShapeCount: more than one block takes the row.
inline std::size_t row_shape(std::size_t cols) { return first_long_enough(kRowShapes, cols); }

// A cluster of `blocks` blocks of `block` threads takes a row: `kept` float4 of each thread in registers, up to
// `shared` in shared memory.
struct ClusterShape {
  std::size_t longest;
  unsigned blocks, block, kept, shared;
};

// Two to four blocks fit on an SM, so that one transfers while another waits for its cluster. Where there is a choice,
// the shape that the row fills better.
constexpr ClusterShape kClusterShapes[] = {{53000, 4, 256, 4, 9},
                                           {86000, 4, 256, 8, 13},
                                           {106000, 8, 256, 4, 9},
                                           {172000, 8, 256, 8, 13},
                                           {344000, 8, 512, 8, 13}};
constexpr std::size_t kClusterShapeCount = sizeof kClusterShapes / sizeof kClusterShapes[0];

// The index in the table, or kClusterShapeCount: the row is read twice, the second time from L2.
inline std::size_t cluster_shape(std::size_t cols) { return first_long_enough(kClusterShapes, cols); }
