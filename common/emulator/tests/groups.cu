// Cooperative groups compared with plain loops: the block, tiles of every size, tiles of tiles, coalesced groups, scans
// that update an atomic, the grid.
#include "support.cuh"

#include <cooperative_groups.h>
#include <cuda/atomic>

#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>  // after <cuda/atomic>, for the scans that update an atomic

#include <algorithm>

namespace cg = cooperative_groups;

// ---------------------------------------------------------------- the block

namespace {

struct BlockView {
  unsigned rank, size, index_x, index_y, index_z, group_x, dim_y;
};

__global__ void view_block(BlockView* out, int* reversed) {
  const auto block = cg::this_thread_block();
  const unsigned rank = block.thread_rank(), size = block.size();
  const dim3 index = block.thread_index(), group = block.group_index(), dims = block.dim_threads();
  out[group.x * size + rank] = {rank, size, index.x, index.y, index.z, group.x, dims.y};

  __shared__ int ranks[512];
  ranks[rank] = rank;
  cg::sync(block);
  reversed[group.x * size + rank] = ranks[size - 1 - rank];
}

}  // namespace

TEST_CASE("the block as a group") {
  const dim3 block(7, 5, 3);
  const int blocks = 3, size = 7 * 5 * 3;
  DeviceVector<BlockView> out(blocks * size);
  DeviceVector<int> reversed(blocks * size);
  view_block<<<blocks, block>>>(out.data(), reversed.data());
  const auto views = out.get();
  const auto ranks = reversed.get();
  for (int i = 0; i < blocks * size; ++i) {
    const BlockView& v = views[i];
    const unsigned rank = i % size;
    REQUIRE((v.rank == rank && v.size == size && v.group_x == static_cast<unsigned>(i / size) && v.dim_y == 5));
    REQUIRE((v.index_z * 5 + v.index_y) * 7 + v.index_x == rank);
    REQUIRE(ranks[i] == static_cast<int>(size - 1 - rank));
  }
}

// ---------------------------------------------------------------- tiles and coalesced groups

namespace {

enum Column {
  kRank,
  kSize,
  kMetaRank,
  kMetaSize,
  kShfl,
  kUp,
  kDown,
  kXor,
  kBallot,
  kAny,
  kAllOf,
  kMatch,
  kSum,
  kLeast,
  kGreatest,
  kSumFloat,
  kInclusive,
  kExclusive,
  kInclusiveGreatest,
  kColumns
};

// Functions of all kinds of groups. The shuffles' arguments differ between threads only where CUDA allows it.
template <class Group>
__device__ void use_group(const Group& group, int value, int* row) {
  row[kRank] = group.thread_rank();
  row[kSize] = group.size();
  row[kShfl] = group.shfl(value, (group.thread_rank() * 5 + 1) % group.size());
  row[kUp] = group.shfl_up(value, 1);
  row[kDown] = group.shfl_down(value, 2);
  row[kBallot] = group.ballot(value & 1);
  row[kAny] = group.any(value % 16 == 0) != 0;
  row[kAllOf] = group.all(value % 8 != 0) != 0;
  row[kMatch] = group.match_any(value & 3);
  row[kSum] = cg::reduce(group, value, cg::plus<int>());
  row[kLeast] = cg::reduce(group, value, cg::less<int>());
  row[kGreatest] = cg::reduce(group, value, cg::greater<int>());
  row[kSumFloat] = static_cast<int>(cg::reduce(group, 0.5f * (value % 64), cg::plus<float>()) * 2);
  row[kInclusive] = cg::inclusive_scan(group, value, cg::plus<int>());
  row[kExclusive] = cg::exclusive_scan(group, value, cg::plus<int>());
  row[kInclusiveGreatest] = cg::inclusive_scan(group, value, cg::greater<int>());
  group.sync();
}

template <unsigned Size>
__global__ void use_tile(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* row = out + i * kColumns;
  const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
  use_group(tile, in[i], row);
  row[kXor] = tile.shfl_xor(in[i], Size / 2);
  row[kMetaRank] = tile.meta_group_rank();
  row[kMetaSize] = tile.meta_group_size();
}

template <unsigned Size>
__global__ void use_tile_of_warp(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* row = out + i * kColumns;
  const auto tile = cg::tiled_partition<Size>(cg::tiled_partition<32>(cg::this_thread_block()));
  use_group(tile, in[i], row);
  row[kXor] = tile.shfl_xor(in[i], Size / 2);
  row[kMetaRank] = tile.meta_group_rank();
  row[kMetaSize] = tile.meta_group_size();
}

__global__ void use_coalesced(const unsigned* masks, const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (masks[i / 32] >> i % 32 & 1) use_group(cg::coalesced_threads(), in[i], out + i * kColumns);
}

// Returns the row that use_group must write, from the members' values in order of rank and this thread's rank.
std::vector<int> expected_row(const std::vector<int>& v, int rank) {
  const int size = static_cast<int>(v.size());
  std::vector<int> row(kColumns);
  row[kRank] = rank;
  row[kSize] = size;
  row[kShfl] = v[(rank * 5 + 1) % size];
  row[kUp] = v[rank >= 1 ? rank - 1 : rank];
  row[kDown] = v[rank + 2 < size ? rank + 2 : rank];
  row[kAllOf] = 1;
  row[kLeast] = row[kGreatest] = v[0];
  row[kInclusiveGreatest] = v[0];
  for (int r = 0; r < size; ++r) {
    row[kBallot] |= (v[r] & 1u) << r;
    row[kAny] |= v[r] % 16 == 0;
    row[kAllOf] &= v[r] % 8 != 0;
    row[kMatch] |= static_cast<unsigned>((v[r] & 3) == (v[rank] & 3)) << r;
    row[kSum] += v[r];
    row[kSumFloat] += v[r] % 64;
    row[kLeast] = std::min(row[kLeast], v[r]);
    row[kGreatest] = std::max(row[kGreatest], v[r]);
    if (r <= rank) row[kInclusive] += v[r];
    if (r < rank) row[kExclusive] += v[r];
    if (r <= rank) row[kInclusiveGreatest] = std::max(row[kInclusiveGreatest], v[r]);
  }
  return row;
}

void require_row(const int* got, const std::vector<int>& expected) {
  for (int column = 0; column < kColumns; ++column) {
    INFO("column " << column);
    REQUIRE(got[column] == expected[column]);
  }
}

std::vector<int> random_values(unsigned seed, int n) {
  Random random(seed);
  std::vector<int> values(n);
  for (int& v : values) v = random(0, 1000);
  return values;
}

template <unsigned Size, bool OfWarp>
void check_tiles() {
  const int threads = 96, blocks = 2;
  const auto in = random_values(Size, threads * blocks);
  DeviceVector<int> device_in(in), out(in.size() * kColumns);
  if constexpr (OfWarp)
    use_tile_of_warp<Size><<<blocks, threads>>>(device_in.data(), out.data());
  else
    use_tile<Size><<<blocks, threads>>>(device_in.data(), out.data());
  const auto got = out.get();
  for (int i = 0; i < threads * blocks; ++i) {
    INFO("tiles of " << Size << ", thread " << i);
    const int rank = i % Size, parent = OfWarp ? 32 : threads;
    const std::vector<int> members(in.begin() + i - rank, in.begin() + i - rank + Size);
    auto expected = expected_row(members, rank);
    expected[kXor] = members[rank ^ (Size / 2)];
    expected[kMetaRank] = i % parent / Size;
    expected[kMetaSize] = parent / Size;
    require_row(&got[i * kColumns], expected);
  }
}

}  // namespace

TEST_CASE("tiles of a block") {
  check_tiles<1, false>();
  check_tiles<2, false>();
  check_tiles<4, false>();
  check_tiles<8, false>();
  check_tiles<16, false>();
  check_tiles<32, false>();
}

TEST_CASE("tiles of a tile") {
  check_tiles<2, true>();
  check_tiles<4, true>();
  check_tiles<8, true>();
  check_tiles<16, true>();
}

TEST_CASE("coalesced groups of every size") {
  std::vector<unsigned> masks;
  Random random(3);
  for (int size = 1; size <= 32; ++size) {
    unsigned mask = size == 32 ? ~0u : (1u << size) - 1;
    masks.push_back(mask);
    for (int moves = 0; moves < 100 && size < 32; ++moves) {  // a random mask with as many lanes
      const int from = random(0, 31), to = random(0, 31);
      if ((mask >> from & 1) && !(mask >> to & 1)) mask ^= 1u << from | 1u << to;
    }
    masks.push_back(mask);
  }
  const int n = static_cast<int>(masks.size()) * 32;
  const auto in = random_values(5, n);
  DeviceVector<unsigned> device_masks(masks);
  DeviceVector<int> device_in(in), out(n * kColumns);
  use_coalesced<<<n / 64, 64>>>(device_masks.data(), device_in.data(), out.data());
  const auto got = out.get();
  for (int i = 0; i < n; ++i) {
    const unsigned mask = masks[i / 32];
    if (!(mask >> i % 32 & 1)) continue;
    std::vector<int> members;
    int rank = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if (!(mask >> lane & 1)) continue;
      if (lane == i % 32) rank = static_cast<int>(members.size());
      members.push_back(in[i / 32 * 32 + lane]);
    }
    INFO("mask " << mask << ", thread " << i);
    require_row(&got[i * kColumns], expected_row(members, rank));
  }
}

namespace {

constexpr int kWideColumns = 9;

template <unsigned Size>
__global__ void use_wide_tile(const int* in, int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  const auto tile = cg::tiled_partition<Size>(cg::this_thread_block(memory));
  const int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
  int* row = out + i * kWideColumns;
  row[0] = tile.thread_rank();
  row[1] = tile.size();
  row[2] = tile.meta_group_rank();
  row[3] = tile.meta_group_size();
  row[4] = cg::reduce(tile, value, cg::plus<int>());
  row[5] = cg::reduce(tile, value, [](int a, int b) { return a < b ? b : a; });
  row[6] = tile.shfl(value, 37);
  row[7] = tile.any(value % 256 == 0) != 0;
  for (unsigned round = 0; round < tile.meta_group_rank(); ++round) tile.sync();  // tiles don't wait for each other
  row[8] = tile.all(value % 64 != 1) != 0;
}

template <unsigned Size>
void check_wide_tiles() {
  const int threads = 256, blocks = 3;
  const auto in = random_values(Size + 1, threads * blocks);
  DeviceVector<int> device_in(in), out(in.size() * kWideColumns);
  use_wide_tile<Size><<<blocks, threads>>>(device_in.data(), out.data());
  const auto got = out.get();
  for (int i = 0; i < threads * blocks; ++i) {
    INFO("tiles of " << Size << ", thread " << i);
    const int rank = i % Size;
    const std::vector<int> members(in.begin() + i - rank, in.begin() + i - rank + Size);
    std::vector<int> expected = {
        rank, Size, i % threads / static_cast<int>(Size), threads / static_cast<int>(Size), 0, 0, members[37], 0, 1};
    for (const int value : members) {
      expected[4] += value;
      expected[5] = std::max(expected[5], value);
      expected[7] |= value % 256 == 0;
      expected[8] &= value % 64 != 1;
    }
    REQUIRE(std::vector<int>(got.begin() + i * kWideColumns, got.begin() + (i + 1) * kWideColumns) == expected);
  }
}

// The results of each thread with an odd value, and the sums that these threads add.
__global__ void update_by_scan(const int* in, unsigned* exclusive, unsigned* inclusive, unsigned* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
  if (value % 2 == 0) return;
  const auto odd = cg::coalesced_threads();
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> first(sums[0]), second(sums[1]);
  exclusive[i] = cg::exclusive_scan_update(odd, first, static_cast<unsigned>(value), cg::plus<unsigned>());
  inclusive[i] = cg::inclusive_scan_update(odd, second, static_cast<unsigned>(value), cg::plus<unsigned>());
}

}  // namespace

TEST_CASE("tiles of several warps") {
  check_wide_tiles<64>();
  check_wide_tiles<128>();
  check_wide_tiles<256>();
}

TEST_CASE("scans that begin at an atomic's value and add to it") {
  const auto in = random_values(17, 192);
  DeviceVector<int> device_in(in);
  DeviceVector<unsigned> exclusive(in.size()), inclusive(in.size()), sums(std::vector<unsigned>{100, 7});
  update_by_scan<<<3, 64>>>(device_in.data(), exclusive.data(), inclusive.data(), sums.data());
  const auto before = exclusive.get(), after = inclusive.get(), all = sums.get();
  std::vector<std::pair<unsigned, unsigned>> ranges[2];
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto value = static_cast<unsigned>(in[i]);
    if (value % 2 == 0) continue;
    ranges[0].emplace_back(before[i], before[i] + value);
    ranges[1].emplace_back(after[i] - value, after[i]);
  }
  for (int kind = 0; kind < 2; ++kind) {  // sorted by position: no gaps, no overlap
    std::sort(ranges[kind].begin(), ranges[kind].end());
    unsigned end = kind == 0 ? 100 : 7;
    for (const auto& [first, last] : ranges[kind]) {
      REQUIRE(first == end);
      end = last;
    }
    REQUIRE(all[kind] == end);
  }
}

// ---------------------------------------------------------------- the grid

namespace {

// In each round every block adds the value of the next block, which is right only with a barrier of the whole grid.
__global__ void add_from_next_block(int* values, int* next, int rounds) {
  const auto grid = cg::this_grid();
  const unsigned rank = grid.thread_rank(), size = grid.size();
  for (int round = 0; round < rounds; ++round) {
    next[rank] = values[rank] + values[(rank + blockDim.x) % size];
    grid.sync();
    values[rank] = next[rank];
    grid.sync();
  }
}

__global__ void view_grid(int* out) {
  const auto grid = cg::this_grid();
  int* row = out + grid.thread_rank() * 4;
  row[0] = grid.thread_rank();
  row[1] = grid.size();
  row[2] = grid.is_valid();
  row[3] = grid.num_blocks();
}

}  // namespace

TEST_CASE("barriers of a grid of several blocks") {
  const int blocks = 8, threads = 128, rounds = 10, n = blocks * threads;
  auto expected = random_values(9, n);
  DeviceVector<int> values(expected), next(n);
  int *values_pointer = values.data(), *next_pointer = next.data(), count = rounds;
  void* arguments[] = {&values_pointer, &next_pointer, &count};
  REQUIRE_CUDA(cudaLaunchCooperativeKernel((void*)add_from_next_block, dim3(blocks), dim3(threads), arguments));
  for (int round = 0; round < rounds; ++round) {
    const auto before = expected;
    for (int i = 0; i < n; ++i) expected[i] = before[i] + before[(i + threads) % n];
  }
  REQUIRE(values.get() == expected);
}

TEST_CASE("the grid as a group, launched by cudaLaunchKernelEx") {
  const int blocks = 6, threads = 40;
  DeviceVector<int> out(blocks * threads * 4);
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(3, 2);
  config.blockDim = dim3(10, 4);
  config.attrs = &cooperative;
  config.numAttrs = 1;
  REQUIRE_CUDA(cudaLaunchKernelEx(&config, view_grid, out.data()));
  const auto got = out.get();
  for (int i = 0; i < blocks * threads; ++i) {
    const std::vector<int> row(got.begin() + i * 4, got.begin() + i * 4 + 4);
    REQUIRE(row == std::vector<int>{i, blocks * threads, 1, blocks});
  }
}

TEST_CASE("a cooperative grid that cannot be resident at once is refused") {
  DeviceVector<int> values(32), next(32);
  int *values_pointer = values.data(), *next_pointer = next.data(), rounds = 1;
  void* arguments[] = {&values_pointer, &next_pointer, &rounds};
  const cudaError_t error = cudaLaunchCooperativeKernel(add_from_next_block, dim3(100000), dim3(1024), arguments);
  CHECK(error == cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaGetLastError() == cudaSuccess);
}
