// Problem:  in step 06 a row of 1024 is five groups. With k = 8 all of it is a candidate and is read nine times more.
// Idea:     rows of up to 2048 stay in a warp's registers. A bound that k elements reach leaves few candidates. They go
//           to shared memory, where an element's position is the number of greater ones.
// Expect:   2 to 3x step 06, 0.5 to 0.8 of a read at 65536x1024x8: 600 instructions per row instead of 4600 in step 05.
// Measured: 9.82x step 06, 0.68 of a read at 65536x1024x8 (H200).
// Next:     what about k = 1000? (Lists and bounds are limited to what a warp holds: radix select, step 04, or a sort.)
#include "top_k_06_groups.cu"

constexpr unsigned kRowsBlock = 256;  // threads; one row per warp
constexpr unsigned kMostOfWarp = 96;  // pairs that a warp can keep

// Returns a key that at least k elements of the row reach, or no_element's if there are fewer. A lane has kKept keys.
template <int kKept>
__device__ int bound_of(const int (&keys)[kKept], unsigned k) {
  int greatest[2] = {no_element().key, no_element().key};
#pragma unroll
  for (int i = 0; i < kKept; ++i) greatest[i % 2] = max(greatest[i % 2], keys[i]);
  if (k <= 32) return __shfl_sync(0xffffffff, sorted_descending(max(greatest[0], greatest[1])), k - 1);
  // find a bound for half of k in each half of the maxima, and return the lower bound
  const int other = sorted_descending(greatest[1]), one = sorted_descending(greatest[0]);
  return __shfl_sync(0xffffffff, min(one, other), (k - 1) / 2);
}

template <int kKept>
__global__ void __launch_bounds__(kRowsBlock)
    top_k_rows_in_registers(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                            std::size_t rows, unsigned cols, unsigned k) {
  __shared__ Pair waiting[kRowsBlock / 32][kMostOfWarp];
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kRowsBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  values += row * k;
  indices += row * k;
  Pair* const pairs = waiting[threadIdx.x / 32];

  // load without conditions, all before the first use; past the end the last element is loaded again
  float v[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) v[i] = x[min(lane + 32 * i, cols - 1)];
  int keys[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) keys[i] = lane + 32 * i < cols ? argmax_key(v[i]) : no_element().key;
  const int bound = max(bound_of(keys, k), no_element().key + 1);

  // candidates: elements that reach the bound
  unsigned count = 0;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const unsigned mask = __ballot_sync(0xffffffff, keys[i] >= bound);
    if (mask == 0) continue;
    const unsigned place = count + __popc(mask & ((1u << lane) - 1));
    if (keys[i] >= bound && place < kMostOfWarp) pairs[place] = pair_of_key(keys[i], lane + 32 * i);
    count += __popc(mask);
  }
  __syncwarp();

  if (count <= kMostOfWarp) {  // its position is the number of greater ones
    for (unsigned mine = lane; mine < count; mine += 32) {
      unsigned place = 0;
      for (unsigned i = 0; i < count; ++i) place += pairs[i] > pairs[mine];
      if (place < k) store_result(x, values, indices, place, pairs[mine]);
    }
  } else {  // too many candidates: a list, as in step 03
    WarpList<2> list(pair_of_key(bound, 0x7fffffff));
    for (unsigned first = 0; first < cols; first += 32) {
      list.offer(first + lane < cols ? pair_of(x[first + lane], first + lane) : kNoPair, k);
    }
    list.store(x, values, indices, k);
  }
}

static void launch_rows_in_registers(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                                     std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  if (cols > 2048) return launch_groups(x, values, indices, rows, cols, k);
  const auto kernel = cols <= 128    ? top_k_rows_in_registers<4>
                      : cols <= 512  ? top_k_rows_in_registers<16>
                      : cols <= 1024 ? top_k_rows_in_registers<32>
                                     : top_k_rows_in_registers<64>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kRowsBlock / 32));
  kernel<<<grid, kRowsBlock>>>(x, values, indices, rows, static_cast<unsigned>(cols), static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch_rows_in_registers);
