// Tests of the reductions beyond the general tests that every step gets.
#include "catch.hpp"
#include "runner/check.hpp"

#include <cmath>
#include <functional>
#include <set>

using namespace ladder;

namespace {

std::vector<std::reference_wrapper<const Step>> steps_of(const std::string& kernel) {
  std::vector<std::reference_wrapper<const Step>> all;
  for (const Step& step : steps()) {
    if (step.problem->kernel() == kernel) all.push_back(step);
  }
  REQUIRE(!all.empty());
  return all;
}

Pattern integers(const Problem& problem) {
  const std::vector<Pattern> patterns = problem.patterns();
  const auto found = std::find_if(patterns.begin(), patterns.end(), [](const Pattern& p) { return p.exact; });
  REQUIRE(found != patterns.end());
  return *found;
}

// Runs the step on the problem's random data and returns the last buffer.
std::vector<float> result_on_random_data(const Step& step, const Size& size) {
  const Case host(*step.problem, size, step.problem->patterns().front(), 1);
  const DeviceCase device(host, 0, false);
  step.problem->run(device.arrays(), size);
  const std::size_t last = host.buffers().size() - 1;
  std::vector<float> out(host.buffers()[last].count);
  CUDA_CHECK(
      cudaMemcpy(out.data(), device.arrays().at<float>(last), out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace

TEST_CASE("every sum but the atomic one has the same bits in every run") {
#ifdef CUDA_EMU  // the emulator is slow
  constexpr int runs = 2;
#else
  constexpr int runs = 5;
#endif
  const std::vector<std::pair<std::string, Size>> sizes = {
      {"sum", {300007}},        {"dot", {300007}},        {"row_sum", {3, 100003}},        {"row_sum", {301, 517}},
      {"col_sum", {100003, 3}}, {"col_sum", {5003, 132}}, {"layer_norm_grad", {3001, 132}}};
  for (const auto& [kernel, size] : sizes) {
    for (const Step& step : steps_of(kernel)) {
      if (step.name == "sum_01_atomic" || step.is_vendor()) continue;
      INFO(step.name << ", " << describe(*step.problem, size));
      const std::vector<float> first = result_on_random_data(step, size);
      for (int run = 0; run < runs; ++run) CHECK(result_on_random_data(step, size) == first);
    }
  }
}

TEST_CASE("large and small arrays in turn: no state is left behind") {
  for (const Step& step : steps()) {
    const std::vector<Dim> dims = step.problem->dims();
    const bool rows = dims.size() >= 2 && dims[1].gpu_default > 0;
    const std::vector<Size> sizes =
        rows ? std::vector<Size>{{1, 2}, {2, 70001}, {0, 5}, {1, 0}, {900, 33}, {2, 1}, {1, 300007}, {1, 2}}
             : std::vector<Size>{{2}, {70001}, {0}, {1}, {5000}, {300007}, {2}};
    for (Size size : sizes) {
      size.dims.resize(dims.size());  // optional dimensions are 0
      if (step.problem->kernel() == std::string("top_k")) size.dims[2] = std::min<std::size_t>(8, size[1]);
      if (step.problem->kernel() == std::string("moe_route")) {
        size.dims[1] = std::clamp<std::size_t>(size[1], 1, 256);
        size.dims[2] = std::min<std::size_t>(8, size[1]);
      }
      if (step.problem->kernel() == std::string("nms"))
        size.dims[0] = std::min<std::size_t>(2000, size[0]);  // n^2 pairs
      if (step.problem->kernel() == std::string("batch_norm")) {
        size.dims = {std::clamp<std::size_t>(size[0], 1, 7), std::min<std::size_t>(9, size[1]), 300};
      }
      for (const Scalar& scalar : step.problem->scalars()) size.scalars.push_back(scalar.default_value);
      INFO(step.name << ", " << describe(*step.problem, size));
      const Case host(*step.problem, size, step.problem->patterns().front(), 1);
      DeviceCase device(host, 0, !kAddressSanitizer);
      CHECK(check(step, device).problem() == "");
    }
  }
}

// Exact data reveal a tile that is missing or counted twice. New data in each launch reveal a launch that uses words of
// an earlier one.
TEST_CASE("scan: many tiles, several launches") {
  for (const Step& step : steps_of("scan")) {
    for (const std::size_t exclusive : {0, 1}) {
      const Size size{200003, exclusive};
      INFO(step.name << ", " << describe(*step.problem, size));
      const auto data = [&](std::uint64_t seed) { return Case(*step.problem, size, integers(*step.problem), seed); };
      const Case first = data(1);
      DeviceCase device(first, 0, !kAddressSanitizer);
      CHECK(check(step, device).problem() == "");
      for (std::uint64_t seed = 2; seed < 5; ++seed) {
        const Case next = data(seed);
        device.load(next);
        CHECK(check(step, device).problem() == "");
      }
    }
  }
}

namespace {

struct Compacted {
  std::vector<float> out;
  std::int64_t count;
};

// Returns what a step stores for x if the output holds -1 before the run.
Compacted compacted(const Step& step, const std::vector<float>& x) {
  const std::size_t bytes = x.size() * sizeof(float);
  Compacted result{std::vector<float>(x.size(), -1), -1};
  DeviceBuffer<float> device_x(x.size()), out(x.size());
  DeviceBuffer<std::int64_t> count(1);
  CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(out.get(), result.out.data(), bytes, cudaMemcpyHostToDevice));
  step.problem->run(Arrays({device_x.get(), out.get(), count.get()}), {x.size()});
  CUDA_CHECK(cudaMemcpy(result.out.data(), out.get(), bytes, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(&result.count, count.get(), sizeof result.count, cudaMemcpyDeviceToHost));
  return result;
}

}  // namespace

TEST_CASE("compact: NaN and both zeros are dropped, infinity and the smallest subnormal kept") {
  using limits = std::numeric_limits<float>;
  const std::vector<float> x = {limits::quiet_NaN(),  3,     -0.0f, limits::infinity(),   0.0f, -limits::infinity(),
                                limits::denorm_min(), -7.0f, 2,     -limits::denorm_min()};
  std::vector<float> want = {3, limits::infinity(), limits::denorm_min(), 2};
  for (const Step& step : steps_of("compact")) {
    INFO(step.name);
    Compacted got = compacted(step, x);
    CHECK(got.count == 4);
    if (step.id < "05" && !step.is_vendor()) {  // these steps may store in any order
      std::sort(got.out.begin(), got.out.begin() + 4);
      std::sort(want.begin(), want.end());
    }
    want.resize(x.size(), -1);
    CHECK(got.out == want);
    want = {3, limits::infinity(), limits::denorm_min(), 2};
  }
}

TEST_CASE("nms: by hand") {
  struct Row {
    const char* what;
    float threshold;
    std::vector<float> boxes;  // best first
    std::vector<std::int8_t> keep;
  };
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Row> rows = {
      {"equal boxes, as of equal scores: the first", 0.5f, {1, 1, 3, 3, 1, 1, 3, 3, 1, 1, 3, 3}, {1, 0, 0}},
      {"an IoU of exactly the threshold", 0.5f, {0, 0, 3, 1, 1, 0, 4, 1}, {1, 1}},
      {"a little above it", 0.5f, {0, 0, 4, 1, 1, 0, 5, 1}, {1, 0}},
      {"a removed box suppresses nothing", 0.5f, {0, 0, 4, 1, 1, 0, 5, 1, 2, 0, 6, 1}, {1, 0, 1}},
      {"at 0 any overlap", 0.0f, {0, 0, 4, 4, 3, 3, 7, 7, 4, 0, 8, 3}, {1, 0, 1}},
      {"no area: 0 / 0", 0.0f, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 5}, {1, 1, 1, 1}},
      {"reversed", -1.0f, {5, 5, 1, 1, 0, 0, 9, 9, 5, 0, 1, 9}, {1, 1, 1}},
      {"NaN in each coordinate, with a box over them",
       0.1f,
       {nan, 0, 4, 4, 0, nan, 4, 4, 0, 0, nan, 4, 0, 0, 4, nan, 0, 0, 4, 4},
       {1, 1, 1, 1, 1}},
      {"apart, below the threshold -1 too", -1.0f, {0, 0, 1, 1, 2, 2, 3, 3}, {1, 1}}};
  for (const Step& step : steps_of("nms")) {
    for (const Row& row : rows) {
      INFO(step.name << ", " << row.what);
      std::vector<std::int8_t> keep(row.keep.size(), -1);
      DeviceBuffer<float> boxes(row.boxes.size());
      DeviceBuffer<std::int8_t> device_keep(keep.size());
      CUDA_CHECK(cudaMemcpy(boxes.get(), row.boxes.data(), row.boxes.size() * sizeof(float), cudaMemcpyHostToDevice));
      step.problem->run(Arrays({boxes.get(), device_keep.get()}), Size({keep.size()}, {row.threshold}));
      CUDA_CHECK(cudaMemcpy(keep.data(), device_keep.get(), keep.size(), cudaMemcpyDeviceToHost));
      CHECK(keep == row.keep);
    }
  }
}

TEST_CASE("nms_04_word_by_word: rows of more words than a warp loads at once") {
  const auto all = steps_of("nms");
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Step& step) { return step.name == "nms_04_word_by_word"; });
  REQUIRE(found != all.end());
  const Step& step = *found;
  const Case host(*step.problem, Size({10000}, {0.5f}), step.problem->patterns().front(), 1);
  DeviceCase device(host, 0, !kAddressSanitizer);
  CHECK(check(step, device).problem() == "");
}

namespace {

struct Routed {
  std::vector<int> chosen, offsets, places;
  std::vector<float> weights;
};

Routed routed(const Step& step, const std::vector<float>& logits, std::size_t experts, std::size_t k) {
  const std::size_t tokens = logits.size() / experts, entries = tokens * k;
  Routed out{std::vector<int>(entries), std::vector<int>(experts + 1), std::vector<int>(entries),
             std::vector<float>(entries)};
  DeviceBuffer<float> in(logits.size()), weights(entries);
  DeviceBuffer<int> chosen(entries), offsets(experts + 1), places(entries);
  CUDA_CHECK(cudaMemcpy(in.get(), logits.data(), logits.size() * sizeof(float), cudaMemcpyHostToDevice));
  step.problem->run(Arrays({in.get(), chosen.get(), weights.get(), offsets.get(), places.get()}), {tokens, experts, k});
  CUDA_CHECK(cudaMemcpy(out.chosen.data(), chosen.get(), entries * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(out.weights.data(), weights.get(), entries * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(out.offsets.data(), offsets.get(), (experts + 1) * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(out.places.data(), places.get(), entries * sizeof(int), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace

TEST_CASE("moe_route: by hand") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {0,    3,    1,    3,                        // a tie: expert 1 before 3
                                     5,    0,    0,    0,                        // a tie for the second place: expert 1
                                     0,    nan,  inf,  9,                        // NaN is the greatest
                                     -inf, -inf, -inf, -inf, -0.0f, -1, -1, 0};  // zeros are equal
  const float e5 = std::exp(-5.0f);
  const std::vector<float> weights = {0.5f, 0.5f, 1 / (1 + e5), e5 / (1 + e5), nan, nan, nan, nan, 0.5f, 0.5f};
  for (const Step& step : steps_of("moe_route")) {
    INFO(step.name);
    const Routed got = routed(step, logits, 4, 2);
    CHECK(got.chosen == std::vector<int>{1, 3, 0, 1, 1, 2, 0, 1, 0, 3});
    CHECK(got.offsets == std::vector<int>{0, 3, 7, 8, 10});
    CHECK(got.places == std::vector<int>{3, 8, 0, 4, 5, 7, 1, 6, 2, 9});
    for (std::size_t i = 0; i < weights.size(); ++i) {
      INFO("weight " << i << ": " << got.weights[i]);
      CHECK((std::isnan(weights[i]) ? std::isnan(got.weights[i]) : std::fabs(got.weights[i] - weights[i]) < 1e-6f));
    }
    const Routed one = routed(step, {7}, 1, 1), none = routed(step, {}, 3, 2);
    CHECK((one.chosen[0] == 0 && one.weights[0] == 1 && one.places[0] == 0));
    CHECK(one.offsets == std::vector<int>{0, 1});
    CHECK(none.offsets == std::vector<int>{0, 0, 0, 0});
  }
}

// A launch must not use words of tiles or counts that an earlier launch has left in scratch memory.
TEST_CASE("moe_route: many tiles, several launches") {
  for (const Step& step : steps_of("moe_route")) {
    INFO(step.name);
    const Size size{9001, 33, 2};
    const Pattern random = step.problem->patterns().front();
    const Case first(*step.problem, size, random, 1), next(*step.problem, size, random, 2);
    DeviceCase device(first, 0, !kAddressSanitizer);
    CHECK(check(step, device).problem() == "");
    device.load(next);
    CHECK(check(step, device).problem() == "");
  }
}

// More tiles than one look-back step covers; many of them keep everything or nothing. A launch must not use what an
// earlier launch has left in scratch memory.
TEST_CASE("compact: many tiles, several launches") {
  for (const Step& step : steps_of("compact")) {
    INFO(step.name);
    for (const Pattern& pattern : step.problem->patterns()) {
      if (pattern.name != std::string("runs") && pattern.name != std::string("random")) continue;
      const Case first(*step.problem, {200003}, pattern, 1), next(*step.problem, {200003}, pattern, 2);
      DeviceCase device(first, 0, !kAddressSanitizer);
      CHECK(check(step, device).problem() == "");
      device.load(next);
      CHECK(check(step, device).problem() == "");
    }
  }
}

// A pointer may have any offset from a 16-byte boundary, and an array may end within the unaligned head.
TEST_CASE("histogram: every offset from a 16-byte boundary, every short length, and all values") {
  constexpr std::size_t room = 4096;
  std::vector<std::uint8_t> bytes(room);
  for (std::size_t i = 0; i < room; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  DeviceBuffer<std::uint8_t> x(room);
  DeviceBuffer<int> counts(256);
  CUDA_CHECK(cudaMemcpy(x.get(), bytes.data(), room, cudaMemcpyHostToDevice));
  for (const Step& step : steps_of("histogram")) {
    for (std::size_t offset = 0; offset < 16; ++offset) {
      for (const std::size_t n : {std::size_t{1}, 16 - offset, 17 - offset, std::size_t{31}, room - offset}) {
        std::vector<int> want(256), got(256);
        for (std::size_t i = 0; i < n; ++i) ++want[bytes[offset + i]];
        step.problem->run(Arrays({x.get() + offset, counts.get()}), {n});
        CUDA_CHECK(cudaMemcpy(got.data(), counts.get(), 256 * sizeof(int), cudaMemcpyDeviceToHost));
        INFO(step.name << ", pointer + " << offset << ", n = " << n);
        CHECK(got == want);
      }
    }
  }
}

// Each thread of the last block has one partial result of the first 1024 blocks, and some threads have a second one.
TEST_CASE("more blocks than the last one has threads") {
  struct Launch {
    std::string step;
    std::size_t tile, tiles;
  };
  const std::vector<Launch> launches = {{"sum_13_tile_per_block", 32768, 1026}, {"max_05_last_block", 32768, 1026}};
  for (const auto& [name, tile, tiles] : launches) {
    const auto step =
        std::find_if(steps().begin(), steps().end(), [&, n = name](const Step& s) { return s.name == n; });
    REQUIRE(step != steps().end());
    const std::size_t n = tiles * tile + 1;
    DeviceBuffer<float> x(n), out(1);
    CUDA_CHECK(cudaMemset(x.get(), 0, n * sizeof(float)));
    // Tiles 0 and 1023 are in the threads' first trip, 1024 and 1026 in the second: 1 + 2 + 4 + 8 = 15, the greatest is
    // 8.
    const std::size_t places[] = {7, 1023 * tile + 7, 1024 * tile + 7, tiles * tile};
    for (std::size_t i = 0; i < 4; ++i) {
      const float value = static_cast<float>(1 << i);
      CUDA_CHECK(cudaMemcpy(x.get() + places[i], &value, sizeof value, cudaMemcpyHostToDevice));
    }
    step->problem->run(Arrays({x.get(), out.get()}), {n});
    float result;
    CUDA_CHECK(cudaMemcpy(&result, out.get(), sizeof result, cudaMemcpyDeviceToHost));
    INFO(name << ", " << tiles << " tiles");
    CHECK(result == (name[0] == 'm' ? 8 : 15));
  }
}

TEST_CASE("argmax: ties in tiles that different threads of the last block look at, and at the ends of a tile") {
  constexpr std::size_t tile = 16384;
  const std::size_t n = 1026 * tile + 2, head = 3;  // of a pointer one float past a boundary
  const std::vector<std::vector<std::size_t>> places = {{1024 * tile + 7, 1025 * tile, 1026 * tile + 1},
                                                        {1023 * tile + 9, 1024 * tile + 9},
                                                        {tile + head - 1, tile + head},
                                                        {head - 1, head},
                                                        {n - 1},
                                                        {}};
  DeviceBuffer<float> x(n + 1);
  DeviceBuffer<std::int64_t> out(1);
  for (const Step& step : steps_of("argmax")) {
    if (step.name != "argmax_03_find_again" && step.name != "argmax_04_loads_in_flight") continue;
    for (const std::vector<std::size_t>& equals : places) {
      CUDA_CHECK(cudaMemset(x.get(), 0, (n + 1) * sizeof(float)));
      const float value = 5;
      for (const std::size_t i : equals) {
        CUDA_CHECK(cudaMemcpy(x.get() + 1 + i, &value, sizeof value, cudaMemcpyHostToDevice));
      }
      step.problem->run(Arrays({x.get() + 1, out.get()}), {n});
      std::int64_t result;
      CUDA_CHECK(cudaMemcpy(&result, out.get(), sizeof result, cudaMemcpyDeviceToHost));
      INFO(step.name);
      CHECK(result == (equals.empty() ? 0 : static_cast<std::int64_t>(equals.front())));
    }
  }
}

namespace {

// Returns the result, of type T, of each step of `kernel` for these vectors. The first vector starts `offset` floats
// past an aligned address, each further one `offset` floats more.
template <typename T>
std::vector<std::pair<std::string, T>> results(const std::string& kernel,
                                               const std::vector<std::vector<float>>& vectors, std::size_t offset = 0) {
  std::vector<DeviceBuffer<float>> memory;
  std::vector<void*> pointers;
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    memory.emplace_back(vectors[v].size() + (v + 1) * offset + 1);
    pointers.push_back(memory.back().get() + (v + 1) * offset);
    CUDA_CHECK(
        cudaMemcpy(pointers.back(), vectors[v].data(), vectors[v].size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  DeviceBuffer<T> out(1);
  pointers.push_back(out.get());
  std::vector<std::pair<std::string, T>> all;
  for (const Step& step : steps_of(kernel)) {
    if (step.is_vendor()) continue;  // libraries specify no result for NaN and the sign of zero
    step.problem->run(Arrays(pointers), {vectors[0].size()});
    T result;
    CUDA_CHECK(cudaMemcpy(&result, out.get(), sizeof result, cudaMemcpyDeviceToHost));
    all.emplace_back(step.name, result);
  }
  return all;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("max: NaN wins, +0 is above -0, nothing is -infinity") {
  const std::vector<std::pair<std::vector<float>, float>> cases = {
      {{}, -kInfinity},         {{-kInfinity}, -kInfinity},     {{-3, -2, -7}, -2},
      {{-0.0f, -0.0f}, -0.0f},  {{-0.0f, 0.0f, -0.0f}, 0.0f},   {{0.0f, -0.0f}, 0.0f},
      {{-1e-45f, -1}, -1e-45f}, {{1, kInfinity, 2}, kInfinity},
  };
  for (const auto& [x, want] : cases) {
    for (const auto& [step, got] : results<float>("max", {x})) {
      INFO(step << " of " << x.size() << " numbers: " << got << ", want " << want);
      CHECK((got == want && std::signbit(got) == std::signbit(want)));
    }
  }
  for (const float sign : {1.0f, -1.0f}) {  // a NaN may have a sign too
    for (const std::vector<float>& x :
         {std::vector<float>{1, std::copysign(kNan, sign), kInfinity}, std::vector<float>{std::copysign(kNan, sign)}}) {
      for (const auto& [step, got] : results<float>("max", {x})) {
        INFO(step);
        CHECK(std::isnan(got));
      }
    }
  }
}

TEST_CASE("argmax: the first of equals, NaN above all, zeros equal") {
  std::vector<float> many(40000, -1.0f), late = many;
  many[20000] = many[20001] = many[39999] = 5;
  late[39998] = late[39999] = kNan;
  late[7] = kInfinity;
  const std::vector<std::pair<std::vector<float>, std::int64_t>> cases = {
      {{}, -1},           {{-kInfinity, -kInfinity}, 0},   {{-5}, 0},         {{1, 3, 3, 2}, 1},
      {{-0.0f, 0.0f}, 0}, {{1, kNan, kInfinity, kNan}, 1}, {{-2, -1, -1}, 1}, {many, 20000},
      {late, 39998},
  };
  for (const auto& [x, want] : cases) {
    for (const std::size_t offset : {0, 1, 3}) {
      for (const auto& [step, got] : results<std::int64_t>("argmax", {x}, offset)) {
        INFO(step << " of " << x.size() << " numbers, pointer + " << offset);
        CHECK(got == want);
      }
    }
  }
}

TEST_CASE("dot: vectors that are aligned differently") {
  // A tile of step 03 has 4096 products: less than one tile, one and a few products, two and a few.
  const std::size_t n = GENERATE(3003, 4100, 8203);
  std::vector<float> x(n), y(n);
  double want = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(patterns::integers(1, 0, i, x.size()));
    y[i] = static_cast<float>(patterns::integers(1, 1, i, x.size()));
    want += x[i] * y[i];
  }
  for (const std::size_t offset : {0, 1, 2, 3}) {  // y has twice this offset
    for (const auto& [step, got] : results<float>("dot", {x, y}, offset)) {
      INFO(step << ", pointer + " << offset);
      CHECK(got == want);
    }
  }
}

TEST_CASE("one NaN makes one row NaN") {
  constexpr std::size_t rows = 70, cols = 130, spoiled = 33;
  std::vector<float> host(rows * cols, 0.5f);
  host[spoiled * cols + cols - 1] = kNan;
  DeviceBuffer<float> x(host.size()), out(rows);
  CUDA_CHECK(cudaMemcpy(x.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  for (const Step& step : steps_of("row_sum")) {
    step.problem->run(Arrays({x.get(), out.get()}), {rows, cols});
    std::vector<float> sums(rows);
    CUDA_CHECK(cudaMemcpy(sums.data(), out.get(), rows * sizeof(float), cudaMemcpyDeviceToHost));
    INFO(step.name);
    for (std::size_t r = 0; r < rows; ++r) CHECK((r == spoiled ? std::isnan(sums[r]) : sums[r] == cols * 0.5f));
  }
}

// ---- layer_norm, rms_norm, add_rms_norm

namespace {

// Returns y, the last buffer, of a step for x with gamma 1, beta 0 and residual 0.
std::vector<float> normalised(const Step& step, const Size& size, const std::vector<float>& x) {
  std::vector<DeviceBuffer<float>> device;
  std::vector<void*> pointers;
  for (const Buffer& buffer : step.problem->buffers(size)) {
    std::vector<float> values(buffer.count, std::string(buffer.name) == "gamma" ? 1.0f : 0.0f);
    if (std::string(buffer.name) == "x") values = x;
    device.emplace_back(buffer.count);
    pointers.push_back(device.back().get());
    CUDA_CHECK(cudaMemcpy(pointers.back(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  }
  step.problem->run(Arrays(pointers), size);
  std::vector<float> y(x.size());
  CUDA_CHECK(cudaMemcpy(y.data(), pointers.back(), y.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return y;
}

template <typename Body>
void for_norms(const Body& body) {
  for (const char* kernel : {"layer_norm", "rms_norm", "add_rms_norm"}) {
    for (const Step& step : steps_of(kernel)) {
      for (const std::size_t cols : {1, 2, 33, 128, 1000, 1024, 4100, 40004}) {
        INFO(step.name << ", rows of " << cols);
        body(step, Size({3, cols}, {1e-5f}));
      }
    }
  }
}

}  // namespace

TEST_CASE("norms: NaN makes its own row NaN, an infinity NaN or 0, and no other row changes") {
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
    for_norms([&](const Step& step, const Size& size) {
      std::vector<float> x(3 * size[1]);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(patterns::random(1, 0, i, x.size()));
      const std::vector<float> before = normalised(step, size, x);
      const std::size_t place = 2 * size[1] - 1;
      x[place] = special;
      const std::vector<float> y = normalised(step, size, x);
      const bool zeros = std::isinf(special) && step.problem->kernel() != std::string("layer_norm");
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const bool other = i / size[1] != 1;
        wrong += other ? y[i] != before[i] : zeros && i != place ? y[i] != 0 : !std::isnan(y[i]);
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("norms: what comes out has the mean and the size that the name says") {
  for_norms([](const Step& step, const Size& size) {
    std::vector<float> x(3 * size[1]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(40 + 30 * patterns::random(1, 0, i, x.size()));
    }
    const std::vector<float> y = normalised(step, size, x);
    const bool centred = step.problem->kernel() == std::string("layer_norm");
    for (std::size_t r = 0; r < 3; ++r) {
      double mean = 0, square = 0;
      for (std::size_t c = 0; c < size[1]; ++c) {
        mean += y[r * size[1] + c] / static_cast<double>(size[1]);
        square += std::pow(y[r * size[1] + c], 2) / static_cast<double>(size[1]);
      }
      CHECK(std::fabs(square - (centred && size[1] == 1 ? 0 : 1)) < 1e-3);
      if (centred) CHECK(std::fabs(mean) < 1e-4);
    }
  });
}

TEST_CASE("layer_norm: a row of one element gives beta, a row of equal ones no more than the mean's rounding") {
  for (const Step& step : steps_of("layer_norm")) {
    INFO(step.name);
    CHECK(normalised(step, Size({3, 1}, {1e-5f}), {1e4f, -3, 0.1f}) == std::vector<float>(3, 0));
    const Size size({2, 1000}, {1e-5f});
    for (const float y : normalised(step, size, std::vector<float>(2000, 0.1f))) {
      // sqrt(epsilon) = 0.0032; the error of the mean is at most the step's own bound
      CHECK(std::fabs(y) <= step.problem->tolerance(size) * 0.1 / std::sqrt(1e-5));
    }
  }
}

// The chapter's example of one pass in float; see layer_norm/bugs/layer_norm_one_pass_in_float.cu.
TEST_CASE("layer_norm: a large mean costs one pass in float the variance, and the steps only the mean's digits") {
  const Size size({1, 1000}, {1e-5f});
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(1e4 + patterns::random(1, 0, i, x.size()));
  double mean = 0, variance = 0;
  for (const float v : x) mean += v / 1000.0;
  for (const float v : x) variance += (v - mean) * (v - mean) / 1000;
  float sum = 0, squares = 0;
  for (const float v : x) {
    sum += v;
    squares += v * v;
  }
  CHECK(std::fabs(squares / 1000 - sum / 1000 * (sum / 1000) - variance) > variance);
  for (const Step& step : steps_of("layer_norm")) {
    INFO(step.name);
    const std::vector<float> y = normalised(step, size, x);
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      worst = std::max(worst, std::fabs(y[i] - (x[i] - mean) / std::sqrt(variance + 1e-5)));
    }
    CHECK(worst < 0.02);  // a float near 1e4 is a multiple of 0.001
  }
}

// ---- top_k

TEST_CASE("top_k: NaN first, ties by the lowest column, zeros equal, each value as it was") {
  struct Row {
    std::vector<float> x;
    std::vector<int> columns;
  };
  std::vector<float> equal(3000, 2.5f), risen(5000), few(70000, -kInfinity);
  std::vector<int> first(64), last(64);
  for (int i = 0; i < 64; ++i) first[i] = i, last[i] = 4999 - i;
  for (std::size_t i = 0; i < risen.size(); ++i) risen[i] = static_cast<float>(i);
  few[69999] = few[3] = 1, few[40000] = -kNan, few[512] = 2;
  const std::vector<Row> rows = {
      {{1, kNan, kInfinity, -kNan, 2}, {1, 3, 2, 4, 0}},
      {{-0.0f, 0.0f, -1, 0.0f, -0.0f}, {0, 1, 3, 4, 2}},
      {{-kInfinity, -3, -kInfinity}, {1, 0, 2}},
      {{kNan}, {0}},
      {equal, first},
      {risen, last},
      {few, {40000, 512, 3, 69999, 0, 1, 2, 4}},
  };
  for (const Step& step : steps_of("top_k")) {
    for (const auto& [x, columns] : rows) {
      for (const std::size_t k : {std::size_t{1}, columns.size() / 2, columns.size()}) {
        DeviceBuffer<float> in(x.size()), values(k);
        DeviceBuffer<int> indices(k);
        CUDA_CHECK(cudaMemcpy(in.get(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
        step.problem->run(Arrays({in.get(), values.get(), indices.get()}), {1, x.size(), k});
        std::vector<int> got(k);
        std::vector<float> of(k);
        CUDA_CHECK(cudaMemcpy(got.data(), indices.get(), k * sizeof(int), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(of.data(), values.get(), k * sizeof(float), cudaMemcpyDeviceToHost));
        INFO(step.name << ", a row of " << x.size() << ", k = " << k);
        CHECK(got == std::vector<int>(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(k)));
        for (std::size_t i = 0; i < k; ++i) {
          const float want = x[static_cast<std::size_t>(columns[i])];
          CHECK((std::isnan(want) ? std::isnan(of[i]) : of[i] == want && std::signbit(of[i]) == std::signbit(want)));
        }
      }
    }
  }
}

TEST_CASE("top_k: a k above the row's length or above 64 is refused") {
  const Problem& problem = *steps_of("top_k").front().get().problem;
  CHECK_THROWS_AS(problem.buffers({5, 7, 8}), UsageError);
  CHECK(problem.buffers({5, 7, 7}).size() == 3);
  CHECK(problem.dims()[2].max == 64);
}

namespace {

struct Sorted {
  std::vector<std::uint32_t> keys;
  std::vector<int> values;
};

// Returns the pairs as sorted by a step; keys are given by their bits.
Sorted sorted(const Step& step, Sorted pairs) {
  const std::size_t n = pairs.keys.size(), bytes = n * sizeof(float);
  DeviceBuffer<float> keys(n), keys_out(n);
  DeviceBuffer<int> values(n), values_out(n);
  CUDA_CHECK(cudaMemcpy(keys.get(), pairs.keys.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(values.get(), pairs.values.data(), bytes, cudaMemcpyHostToDevice));
  step.problem->run(Arrays({keys.get(), values.get(), keys_out.get(), values_out.get()}), {n});
  CUDA_CHECK(cudaMemcpy(pairs.keys.data(), keys_out.get(), bytes, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(pairs.values.data(), values_out.get(), bytes, cudaMemcpyDeviceToHost));
  return pairs;
}

}  // namespace

TEST_CASE("sort: NaN by sign and bits, zeros equal, every key with its own bits") {
  const Sorted pairs = {
      {0x7fc00001, 0x80000000, 0xffc00000, 0x00000000, 0x7f800000, 0x80000000, 0xff800000, 0x3f800000, 0xffc00001,
       0x7fc00000, 0x80000001, 0x00000001, 0xbf800000, 0x7fffffff, 0xffffffff, 0x00000000},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  for (const Step& step : steps_of("sort")) {
    INFO(step.name);
    const Sorted got = sorted(step, pairs);
    CHECK(got.values == std::vector<int>{14, 8, 2, 6, 12, 10, 1, 3, 5, 15, 11, 7, 4, 9, 0, 13});
    for (std::size_t i = 0; i < got.keys.size(); ++i) CHECK(got.keys[i] == pairs.keys[got.values[i]]);
  }
}

// Many tiles; in some of them all keys have the same digit. A launch must not use what an earlier launch has left
// behind.
TEST_CASE("sort: many tiles, several launches") {
  for (const Step& step : steps_of("sort")) {
    INFO(step.name);
    for (const Pattern& pattern : step.problem->patterns()) {
      if (pattern.name != std::string("rising") && pattern.name != std::string("random")) continue;
      const Case first(*step.problem, {100003}, pattern, 1), next(*step.problem, {100003}, pattern, 2);
      DeviceCase device(first, 0, !kAddressSanitizer);
      CHECK(check(step, device).problem() == "");
      device.load(next);
      CHECK(check(step, device).problem() == "");
    }
  }
}
