// Warp collectives: a table measured on an H100; random masks, widths, values and types, compared with plain loops.
#include "support.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace cg = cooperative_groups;

namespace {

constexpr unsigned kAll = 0xffffffffu;

// ---------------------------------------------------------------- the table

// Thread `thread` of `threads` writes one value per row.
struct Recorder {
  int* out;
  int threads, thread, row = 0;
  __device__ void operator()(int value) { out[row++ * threads + thread] = value; }
};

__global__ void every_collective(int* out, float* tile_sum, int threads) {
  const int t = threadIdx.x, lane = t % 32;
  Recorder put{out, threads, t};

  put(__shfl_sync(kAll, lane, 5));
  put(__shfl_sync(kAll, lane, 5, 8));
  put(__shfl_up_sync(kAll, lane, 3));
  put(__shfl_up_sync(kAll, lane, 3, 8));
  put(__shfl_down_sync(kAll, lane, 3));
  put(__shfl_down_sync(kAll, lane, 3, 8));
  put(__shfl_xor_sync(kAll, lane, 9));
  put(__shfl_xor_sync(kAll, lane, 9, 8));
  put(__shfl_sync(kAll, lane, 37));
  put(__shfl_sync(kAll, lane, -1));

  put(__ballot_sync(kAll, lane % 3 == 0));
  put(__any_sync(kAll, lane == 31));
  put(__all_sync(kAll, lane < 31));
  put(__all_sync(kAll, lane < 32));
  put(__reduce_add_sync(kAll, lane));
  put(__reduce_max_sync(kAll, -lane));
  put(__match_any_sync(kAll, lane % 4));

  // the two halves of a warp separately
  if (lane < 16)
    put(__shfl_xor_sync(0x0000ffffu, lane, 1));
  else
    put(__shfl_xor_sync(0xffff0000u, lane, 2));
  if (lane % 2)
    put(__reduce_add_sync(0xaaaaaaaau, 1));
  else
    put(7);
  put(__reduce_add_sync(kAll, 1));

  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto quad = cg::tiled_partition<4>(warp);
  put(cg::reduce(warp, lane, cg::plus<int>()));
  put(cg::reduce(quad, lane, cg::greater<int>()));
  put(quad.meta_group_rank());
  put(warp.shfl_down(lane, 1));
  put(quad.ballot(lane % 4 == 2));
  put(cg::inclusive_scan(warp, 1, cg::plus<int>()));

  put(__syncthreads_count(t % 2));
  put(__syncthreads_and(t < threads));
  put(__syncthreads_or(t == 3));
  put(static_cast<int>(__shfl_xor_sync(kAll, 1.5 + lane, 1) * 10));
  put(static_cast<int>(__shfl_sync(kAll, static_cast<long long>(lane) << 40, 3)) == 0);
  tile_sum[t] = cg::reduce(warp, 0.5f, cg::plus<float>());
}

struct Row {
  const char* what;
  std::array<int, 9> expected;  // in threads 0, 1, 2, 5, 9, 16, 30, 31, 63 of 64
};
constexpr std::array<int, 9> kThreads = {0, 1, 2, 5, 9, 16, 30, 31, 63};

// Measured on an H100 80GB HBM3 with CUDA 13.0.
const std::vector<Row> kMeasured = {
    {"shfl 5", {5, 5, 5, 5, 5, 5, 5, 5, 5}},
    {"shfl 5, width 8", {5, 5, 5, 5, 13, 21, 29, 29, 29}},
    {"shfl_up 3", {0, 1, 2, 2, 6, 13, 27, 28, 28}},
    {"shfl_up 3, width 8", {0, 1, 2, 2, 9, 16, 27, 28, 28}},
    {"shfl_down 3", {3, 4, 5, 8, 12, 19, 30, 31, 31}},
    {"shfl_down 3, width 8", {3, 4, 5, 5, 12, 19, 30, 31, 31}},
    {"shfl_xor 9", {9, 8, 11, 12, 0, 25, 23, 22, 22}},
    {"shfl_xor 9, width 8", {0, 1, 2, 5, 0, 16, 23, 22, 22}},
    {"shfl 37", {5, 5, 5, 5, 5, 5, 5, 5, 5}},
    {"shfl -1", {31, 31, 31, 31, 31, 31, 31, 31, 31}},
    {"ballot",
     {1227133513, 1227133513, 1227133513, 1227133513, 1227133513, 1227133513, 1227133513, 1227133513, 1227133513}},
    {"any", {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"all, false in one lane", {0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"all", {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"reduce_add", {496, 496, 496, 496, 496, 496, 496, 496, 496}},
    {"reduce_max", {0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"match_any",
     {286331153, 572662306, 1145324612, 572662306, 572662306, 286331153, 1145324612, -2004318072, -2004318072}},
    {"shfl_xor in half warps", {1, 0, 3, 4, 8, 18, 28, 29, 29}},
    {"reduce_add of odd lanes", {7, 16, 7, 16, 16, 7, 7, 16, 16}},
    {"reduce_add after divergence", {32, 32, 32, 32, 32, 32, 32, 32, 32}},
    {"cg::reduce of a warp", {496, 496, 496, 496, 496, 496, 496, 496, 496}},
    {"cg::reduce of four, greater", {3, 3, 3, 7, 11, 19, 31, 31, 31}},
    {"meta_group_rank of four in a warp", {0, 0, 0, 1, 2, 4, 7, 7, 7}},  // numbered within the warp, not the block
    {"tile.shfl_down", {1, 2, 3, 6, 10, 17, 31, 31, 31}},
    {"tile.ballot of four", {4, 4, 4, 4, 4, 4, 4, 4, 4}},
    {"cg::inclusive_scan of ones", {1, 2, 3, 6, 10, 17, 31, 32, 32}},
    {"syncthreads_count", {32, 32, 32, 32, 32, 32, 32, 32, 32}},
    {"syncthreads_and", {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"syncthreads_or", {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"shfl_xor of a double", {25, 15, 45, 55, 95, 185, 325, 315, 315}},
    {"shfl of a long long", {1, 1, 1, 1, 1, 1, 1, 1, 1}},
};

__global__ void shift_in_a_partial_warp(float* out) {
  out[threadIdx.x] = __shfl_down_sync(kAll, static_cast<float>(threadIdx.x), 4);
}

}  // namespace

TEST_CASE("every collective gives what an H100 gives") {
  const int threads = 64, rows = static_cast<int>(kMeasured.size());
  DeviceVector<int> out(rows * threads);
  DeviceVector<float> tile_sum(threads);
  every_collective<<<1, threads>>>(out.data(), tile_sum.data(), threads);
  const auto values = out.get();
  for (int row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < kThreads.size(); ++i) {
      INFO(kMeasured[row].what << ", thread " << kThreads[i]);
      CHECK(values[row * threads + kThreads[i]] == kMeasured[row].expected[i]);
    }
  for (const float sum : tile_sum.get()) CHECK(sum == 16);
}

TEST_CASE("shuffle in a warp of 8 lanes") {
  DeviceVector<float> out(40);
  shift_in_a_partial_warp<<<1, 40>>>(out.data());
  const auto values = out.get();
  CHECK(values[27] == 31);
  CHECK(values[28] == 28);
  CHECK(values[32] == 36);
#ifdef CUDA_EMU
  CHECK(std::isnan(values[37]));  // from a lane that does not exist: undefined in CUDA (an H100 gives 0), poison here
#endif
}

// ---------------------------------------------------------------- shuffles against loops

namespace {

enum class Shuffle { index, up, down, exclusive_or };

// One lane's part. The lanes that share a mask are a group; a lane with mask 0 takes no part.
struct Part {
  unsigned mask;
  int argument, width;
};

template <class T>
__global__ void shuffle_kernel(Shuffle kind, const Part* parts, const T* in, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Part part = parts[i];
  const T value = in[i];
  if (part.mask == 0) return;
  T result = value;
  switch (kind) {
    case Shuffle::index:
      result = __shfl_sync(part.mask, value, part.argument, part.width);
      break;
    case Shuffle::up:
      result = __shfl_up_sync(part.mask, value, part.argument, part.width);
      break;
    case Shuffle::down:
      result = __shfl_down_sync(part.mask, value, part.argument, part.width);
      break;
    case Shuffle::exclusive_or:
      result = __shfl_xor_sync(part.mask, value, part.argument, part.width);
      break;
  }
  out[i] = result;
}

// Returns the lane that lane `lane` reads, by the PTX definition of shfl.
int source_lane(Shuffle kind, int lane, int argument, int width) {
  const int first = lane / width * width, last = first + width - 1;
  switch (kind) {
    case Shuffle::index:
      return first + (argument & (width - 1));
    case Shuffle::up:
      return lane - argument < first ? lane : lane - argument;
    case Shuffle::down:
      return lane + argument > last ? lane : lane + argument;
    case Shuffle::exclusive_or:
      return (lane ^ argument) > last ? lane : lane ^ argument;
  }
  return lane;
}

// Returns masks that divide a warp's lanes into `groups` random groups; with_absent: some lanes are in none.
std::array<unsigned, 32> random_masks(Random& random, int groups, bool with_absent) {
  std::array<int, 32> group{};
  std::array<unsigned, 32> mask{};
  for (int& g : group) g = random(with_absent ? -1 : 0, groups - 1);
  for (int lane = 0; lane < 32; ++lane)
    for (int other = 0; other < 32; ++other)
      if (group[lane] >= 0 && group[other] == group[lane]) mask[lane] |= 1u << other;
  return mask;
}

// Returns parts for whole warps. The lanes of a group have the same mask and width. Arguments of up, down and xor are
// 0..31, as in the Guide.
std::vector<Part> random_parts(Random& random, int warps, bool any_argument) {
  std::vector<Part> parts(warps * 32);
  for (int w = 0; w < warps; ++w) {
    const auto masks = random_masks(random, random(1, 6), w % 2 == 1);
    const int width = 1 << random(0, 5);
    for (int lane = 0; lane < 32; ++lane)
      parts[w * 32 + lane] = {masks[lane], any_argument ? random(-100, 100) : random(0, 31), width};
  }
  return parts;
}

template <class T>
std::vector<T> random_values(Random& random, std::size_t n) {
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(random(-1000000, 1000000)) * static_cast<T>(sizeof(T) > 4 ? 1000003 : 1);
  return values;
}

// The result of a read from a lane that takes no part, in the emulator: all bits set.
template <class T>
bool is_poison(T value) {
  if constexpr (std::is_floating_point<T>::value)
    return std::isnan(value);
  else
    return value == static_cast<T>(-1);
}

template <class T>
void check_shuffles() {
  constexpr int kWarps = 64;
  Random random(7);
  for (const Shuffle kind : {Shuffle::index, Shuffle::up, Shuffle::down, Shuffle::exclusive_or}) {
    const auto parts = random_parts(random, kWarps, kind == Shuffle::index);
    const auto in = random_values<T>(random, parts.size());
    DeviceVector<Part> device_parts(parts);
    DeviceVector<T> device_in(in), out(parts.size());
    shuffle_kernel<<<kWarps / 2, 64>>>(kind, device_parts.data(), device_in.data(), out.data());
    const auto got = out.get();
    int wrong = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].mask == 0) continue;
      const int lane = i % 32, from = source_lane(kind, lane, parts[i].argument, parts[i].width);
      if (parts[i].mask >> from & 1) wrong += got[i] != in[i - lane + from];
#ifdef CUDA_EMU
      else
        wrong += !is_poison(got[i]);
#endif
    }
    INFO("kind " << static_cast<int>(kind));
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("shuffles of every type") {
  check_shuffles<int>();
  check_shuffles<unsigned>();
  check_shuffles<long>();
  check_shuffles<unsigned long>();
  check_shuffles<long long>();
  check_shuffles<unsigned long long>();
  check_shuffles<float>();
  check_shuffles<double>();
}

// ---------------------------------------------------------------- votes, reductions and matches against loops

namespace {

enum Column {
  kBallot,
  kAny,
  kAllOf,
  kMatch,
  kMatchLong,
  kMatchAll,
  kMatchAllPredicate,
  kAddInt,
  kMinInt,
  kMaxInt,
  kAddUnsigned,
  kMinUnsigned,
  kMaxUnsigned,
  kAnd,
  kOr,
  kXor,
  kColumns
};

__global__ void group_kernel(const Part* parts, const int* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned mask = parts[i].mask;
  const int v = in[i];
  const unsigned u = v;
  if (mask == 0) return;
  unsigned* row = out + i * kColumns;
  row[kBallot] = __ballot_sync(mask, v & 2);
  row[kAny] = __any_sync(mask, v & 4);
  row[kAllOf] = __all_sync(mask, v & 8);
  row[kMatch] = __match_any_sync(mask, v & 3);
  row[kMatchLong] = __match_any_sync(mask, static_cast<unsigned long long>(v & 3) << 40);
  int same = -1;
  row[kMatchAll] = __match_all_sync(mask, v & 16, &same);
  row[kMatchAllPredicate] = same != 0;
  row[kAddInt] = __reduce_add_sync(mask, v);
  row[kMinInt] = __reduce_min_sync(mask, v);
  row[kMaxInt] = __reduce_max_sync(mask, v);
  row[kAddUnsigned] = __reduce_add_sync(mask, u);
  row[kMinUnsigned] = __reduce_min_sync(mask, u);
  row[kMaxUnsigned] = __reduce_max_sync(mask, u);
  row[kAnd] = __reduce_and_sync(mask, u);
  row[kOr] = __reduce_or_sync(mask, u);
  row[kXor] = __reduce_xor_sync(mask, u);
}

std::array<unsigned, kColumns> group_results(unsigned mask, int lane, const int* v) {
  std::array<unsigned, kColumns> r{};
  bool first = true;
  r[kAllOf] = r[kMatchAllPredicate] = 1;
  for (int l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    const unsigned u = v[l], bit = 1u << l;
    r[kBallot] |= v[l] & 2 ? bit : 0;
    r[kAny] |= (v[l] & 4) != 0;
    r[kAllOf] &= (v[l] & 8) != 0;
    r[kMatch] |= (v[l] & 3) == (v[lane] & 3) ? bit : 0;
    r[kMatchAllPredicate] &= (v[l] & 16) == (v[lane] & 16);
    r[kMinInt] = first ? u : static_cast<unsigned>(std::min<int>(r[kMinInt], v[l]));
    r[kMaxInt] = first ? u : static_cast<unsigned>(std::max<int>(r[kMaxInt], v[l]));
    r[kMinUnsigned] = first ? u : std::min(r[kMinUnsigned], u);
    r[kMaxUnsigned] = first ? u : std::max(r[kMaxUnsigned], u);
    r[kAnd] = first ? u : r[kAnd] & u;
    r[kOr] |= u;
    r[kXor] ^= u;
    r[kAddInt] += u;
    first = false;
  }
  r[kMatchLong] = r[kMatch];
  r[kMatchAll] = r[kMatchAllPredicate] ? mask : 0;
  r[kAddUnsigned] = r[kAddInt];
  return r;
}

}  // namespace

TEST_CASE("votes, reductions and matches of random groups") {
  constexpr int kWarps = 128;
  Random random(11);
  const auto parts = random_parts(random, kWarps, false);
  const auto in = random_values<int>(random, parts.size());
  DeviceVector<Part> device_parts(parts);
  DeviceVector<int> device_in(in);
  DeviceVector<unsigned> out(parts.size() * kColumns);
  group_kernel<<<kWarps / 4, 128>>>(device_parts.data(), device_in.data(), out.data());
  const auto got = out.get();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].mask == 0) continue;
    const auto expected = group_results(parts[i].mask, i % 32, &in[i / 32 * 32]);
    for (int column = 0; column < kColumns; ++column) {
      INFO("thread " << i << ", column " << column << ", mask " << parts[i].mask);
      REQUIRE(got[i * kColumns + column] == expected[column]);
    }
  }
}

namespace {

__global__ void block_votes(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int bit = 0; bit < 8; ++bit) {
    const int predicate = in[i] & 1 << bit;
    int* row = out + (i * 8 + bit) * 3;
    row[0] = __syncthreads_count(predicate);
    row[1] = __syncthreads_and(predicate);
    row[2] = __syncthreads_or(predicate);
  }
}

}  // namespace

TEST_CASE("block votes") {
  constexpr int kBlocks = 3, kThreads = 100;
  Random random(13);
  std::vector<int> in(kBlocks * kThreads);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int common = (1 << 0) | (i == 150 ? 0 : 1 << 1) | (i == 250 ? 1 << 2 : 0);  // all; all but one; one
    in[i] = common | random(0, 31) << 3;
  }
  DeviceVector<int> device_in(in), out(in.size() * 8 * 3);
  block_votes<<<kBlocks, kThreads>>>(device_in.data(), out.data());
  const auto got = out.get();
  for (int block = 0; block < kBlocks; ++block)
    for (int bit = 0; bit < 8; ++bit) {
      int count = 0;
      for (int t = 0; t < kThreads; ++t) count += in[block * kThreads + t] >> bit & 1;
      for (int t = 0; t < kThreads; ++t) {
        const int* row = &got[((block * kThreads + t) * 8 + bit) * 3];
        REQUIRE(row[0] == count);
        REQUIRE((row[1] != 0) == (count == kThreads));
        REQUIRE((row[2] != 0) == (count > 0));
      }
    }
}
