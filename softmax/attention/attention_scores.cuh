// The softmax between the two GEMMs of attention 01 and 02, which store the scores in memory.
#pragma once
#include "attention.cuh"
#include "../online_softmax.cuh"  // group_max, group_sum, shift_for

constexpr unsigned kBlock = 256;

// Replaces each row of scores by its softmax, one warp per row. A row of only -inf becomes 0.
__global__ static void attention_softmax(float* __restrict__ scores, std::size_t rows, std::size_t keys) {
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp
  const unsigned lane = threadIdx.x % 32;
  scores += row * keys;
  float max = -INFINITY, sum = 0.0f;
  for (std::size_t j = lane; j < keys; j += 32) max = fmaxf(max, scores[j]);
  const float shift = shift_for(group_max<32>(max));
  for (std::size_t j = lane; j < keys; j += 32) sum += expf(scores[j] - shift);
  sum = group_sum<32>(sum);
  for (std::size_t j = lane; j < keys; j += 32) scores[j] = sum == 0.0f ? 0.0f : expf(scores[j] - shift) / sum;
}
