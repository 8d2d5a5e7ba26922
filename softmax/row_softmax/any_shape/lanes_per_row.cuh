// Kernel for rows in the registers of 4 to 32 lanes: float4 between 16-byte boundaries, single elements at the edges.
#pragma once
#include "peeled.cuh"
#include "../../float4_row.cuh"

constexpr unsigned kLanesBlock = 256;

// Each lane holds kKept float4 and at most two of the elements at the row's edges.
template <unsigned kLanes, unsigned kKept>
__global__ void __launch_bounds__(kLanesBlock, 4)
    row_softmax_lanes(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, unsigned cols) {
  const unsigned lane = threadIdx.x % kLanes;
  const std::size_t row = std::size_t{blockIdx.x} * (kLanesBlock / kLanes) + threadIdx.x / kLanes;
  const unsigned length = row < rows ? cols : 0;  // no return: all lanes must reach the shuffles
  x += row * cols;
  y += row * cols;

  // load
  const Peeled<> part(x, length);
  const auto units = static_cast<unsigned>(part.units);
  const auto* const from = reinterpret_cast<const float4*>(x + part.head);
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = k * kLanes + lane;
    v[k] = i < units ? from[i] : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  }
  constexpr unsigned kEdges = kLanes < 8 ? 2 : 1;
  unsigned at[kEdges];
  float edge[kEdges];
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    at[k] = static_cast<unsigned>(part.edge(k * kLanes + lane, length));
    edge[k] = at[k] < length ? x[at[k]] : -INFINITY;
  }

  // reduce: the lane's maximum, one exp per element in place; then over the lanes
  float max = -INFINITY, sum = 0.0f;
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) max = fmaxf(max, edge[k]);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  const float shift = shift_for(max);
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) sum += edge[k] = expf(edge[k] - shift);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += sum4(v[k] = exp4(v[k], shift));
  const MaxSum s = warp_merge<kLanes>({max, sum});

  // store
  const float factor = expf(max - s.max) / s.sum;
  const bool same = alike(x, y);
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    if (at[k] < length) y[at[k]] = edge[k] * factor;
  }
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = k * kLanes + lane;
    const float4 result = {v[k].x * factor, v[k].y * factor, v[k].z * factor, v[k].w * factor};
    if (i < units) store_unit(y + part.head + 4 * i, result, same);
  }
}

// Returns the longest row that a warp holds: whole float4, plus three elements at the edges.
constexpr std::size_t longest_row(unsigned kept) { return 4 * 32 * kept + 3; }

template <unsigned kKept>
void launch_lanes(const float* x, float* y, std::size_t rows, std::size_t cols) {
  unsigned lanes = 4;  // as few as hold the row
  while (4 * lanes * kKept + 3 < cols) lanes *= 2;
  const auto kernel = lanes == 4    ? row_softmax_lanes<4, kKept>
                      : lanes == 8  ? row_softmax_lanes<8, kKept>
                      : lanes == 16 ? row_softmax_lanes<16, kKept>
                                    : row_softmax_lanes<32, kKept>;
  kernel<<<static_cast<unsigned>(ceil_div(rows, kLanesBlock / lanes)), kLanesBlock>>>(x, y, rows,
                                                                                      static_cast<unsigned>(cols));
  CUDA_CHECK(cudaGetLastError());
}
