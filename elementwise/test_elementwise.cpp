// Beyond the general tests of every step: values that a reader would ask about.
#include "catch.hpp"
#include "quantize/quantize_shapes.hpp"
#include "runner/check.hpp"

#include <cmath>

using namespace ladder;

namespace {

// f(x) as each step of `kernel` (a function of one variable) computes it.
std::vector<std::pair<std::string, float>> values(const std::string& kernel, float x) {
  std::vector<std::pair<std::string, float>> all;
  DeviceBuffer<float> in(1), out(1);
  CUDA_CHECK(cudaMemcpy(in.get(), &x, sizeof x, cudaMemcpyHostToDevice));
  for (const Step& step : steps()) {
    if (step.problem->kernel() != kernel) continue;
    step.problem->run(Arrays({in.get(), out.get()}), {1});
    float y;
    CUDA_CHECK(cudaMemcpy(&y, out.get(), sizeof y, cudaMemcpyDeviceToHost));
    all.emplace_back(step.name, y);
  }
  REQUIRE(!all.empty());
  return all;
}

}  // namespace

TEST_CASE("sigmoid at the ends of its range") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const auto& [step, y] : values("sigmoid", 0)) CHECK(std::make_pair(step, y) == std::make_pair(step, 0.5f));
  for (const float x : {100.0f, 88.8f, inf}) {
    for (const auto& [step, y] : values("sigmoid", x)) CHECK(std::make_pair(step, y) == std::make_pair(step, 1.0f));
  }
  for (const float x : {-100.0f, -88.8f, -inf}) {
    for (const auto& [step, y] : values("sigmoid", x)) {
      INFO(step << " at " << x << ": " << y);
      CHECK((y >= 0 && y <= std::numeric_limits<float>::min()));
    }
  }
}

TEST_CASE("relu lets NaN through") {
  for (const auto& [step, y] : values("relu", std::numeric_limits<float>::quiet_NaN())) {
    INFO(step);
    CHECK(std::isnan(y));
  }
}

TEST_CASE("gelu and silu where they are hard to compute") {
  // Phi(-6) = 9.865876450e-10; sigmoid(-20) = 2.061153618e-9
  const auto near = [](float got, double want) { return std::fabs(got - want) <= 1e-5 * std::fabs(want); };
  for (const auto& [step, y] : values("gelu", -6)) {
    INFO(step << ": " << y);
    CHECK(near(y, -5.919525870e-9));
  }
  for (const auto& [step, y] : values("silu", -20)) {
    INFO(step << ": " << y);
    CHECK(near(y, -4.122307236e-8));
  }
  for (const std::string kernel : {"gelu", "silu"}) {
    for (const auto& [step, y] : values(kernel, 100)) CHECK(std::make_pair(step, y) == std::make_pair(step, 100.0f));
    for (const auto& [step, y] : values(kernel, -100)) {
      INFO(step << ": " << y);
      CHECK((y <= 0 && y >= -1e-36f));
    }
    for (const auto& [step, y] : values(kernel, -std::numeric_limits<float>::infinity())) {
      INFO(step << ": " << y);
      CHECK(std::isnan(y));
    }
  }
}

TEST_CASE("quantize: ties to even, and what a row of zeros, NaN, an infinity and tiny elements give") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  struct Row {
    std::vector<float> x;
    float scale;
    std::vector<int> q;
  };
  const std::vector<Row> rows = {
      {{127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -126.5f}, 1, {127, 0, 2, 2, 0, -2, -126}},
      {{-254, 1, 3, 5}, 2, {-127, 0, 2, 2}},
      {{-3, 1}, 3 / 127.0f, {-127, 42}},
      {{0, -0.0f, 0}, 0, {0, 0, 0}},
      {{1, nan, inf}, nan, {0, 0, 0}},
      {{1, -inf, 0}, inf, {0, 0, 0}},
      {{63 * least, 0}, 0, {0, 0}},                       // the division underflows
      {{190 * least, -100 * least}, least, {127, -100}},  // 190 / 127 is rounded to 1, and 190 cut to 127
      {{most, -most, most / 4}, most / 127.0f, {127, -127, 32}},
      {{5}, 5 / 127.0f, {127}},
      {{}, 0, {}},
  };
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("quantize")) continue;
    for (const auto& [x, scale, want] : rows) {
      DeviceBuffer<float> in(x.size()), out_scale(1);
      DeviceBuffer<std::int8_t> out(x.size());
      CUDA_CHECK(cudaMemcpy(in.get(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
      step.problem->run(Arrays({in.get(), out.get(), out_scale.get()}), {1, x.size()});
      std::vector<std::int8_t> q(x.size());
      float got;
      CUDA_CHECK(cudaMemcpy(q.data(), out.get(), q.size(), cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaMemcpy(&got, out_scale.get(), sizeof got, cudaMemcpyDeviceToHost));
      INFO(step.name << ", a row of " << x.size() << " with the scale " << scale << ": " << got);
      CHECK((std::isnan(scale) ? std::isnan(got) : got == scale));
      CHECK(std::vector<int>(q.begin(), q.end()) == want);
    }
  }
}

TEST_CASE("quantize 05: which kernel which row takes") {
  using namespace quantize_shapes;
  for (std::size_t cols = 0; cols <= 20000; ++cols) {
    const std::size_t i = row_shape(cols);
    if (i < kRowShapeCount) CHECK(cols <= kRowShapes[i].longest);
    if (i > 0) CHECK(cols > kRowShapes[i - 1].longest);
  }
  for (const RowShape& s : kRowShapes) {
    INFO(s.longest);
    CHECK(s.longest == (s.kept == 0 ? 4 * s.threads : 4 * s.threads * s.kept + 3));  // and 3 at the edges
    CHECK(s.block % s.threads == 0);
    CHECK((s.threads <= 32 || s.threads == s.block));
    CHECK((s.kept == 0 || s.threads >= 8));  // for the edges: 6 elements, or 34 from 64 threads on
  }
  const auto threads = [](std::size_t cols) { return kRowShapes[row_shape(cols)].threads; };
  CHECK(threads(1) == 1);
  CHECK(threads(7) == 2);
  CHECK(kRowShapes[row_shape(32)].kept == 0);
  CHECK(threads(64) == 8);
  CHECK(kRowShapes[row_shape(64)].kept == 2);
  CHECK(threads(1024) == 32);
  CHECK(threads(4096) == 128);
  CHECK(threads(8224) == 256);
  CHECK(row_shape(16388) == kRowShapeCount);

  CHECK(block_for(16388) == 512);
  CHECK(block_for(43011) == 512);
  CHECK(block_for(49116) == 1024);
  CHECK(block_for(86020) == 256);
  // On an H200, which holds 528 blocks of 21504 elements: as many as the row needs, half of what fits for few rows,
  // parts of 4096 elements at least, and no more than fit.
  const auto team = [](std::size_t rows, std::size_t cols) { return team_for(rows, cols, 21504, 528); };
  CHECK(team(64, 1 << 20) == 49);
  CHECK(team(1, 1 << 20) == 256);
  CHECK(team(7, 128587) == 31);
  CHECK(team(2, 21890893) == 528);
  CHECK(team(1000, 86020) == 5);
}

TEST_CASE("quantize 05: rows that registers and shared memory, a team and no team hold") {
  const std::size_t no_team =
      std::size_t{8} * sm_count() * 4 * 256 * (quantize_shapes::kKept + quantize_shapes::kMostChunks);
  bool any = false;
  for (const Step& step : steps()) {
    if (step.name != "quantize_05_any_length") continue;
    any = true;
    for (const Pattern& pattern : step.problem->patterns()) {
      for (const Size& size : {Size{2, 50003}, Size{1, 86020}, Size{3, 90001}, Size{1, no_team + 1003}}) {
        if (size[1] > no_team && pattern.name != std::string("random")) continue;
        INFO(step.name << ", " << size[0] << " x " << size[1] << ", " << pattern.name);
        const Case host(*step.problem, size, pattern, 1);
        for (const std::size_t offset : {0, 1}) {
          DeviceCase device(host, offset, !kAddressSanitizer);
          CHECK(check(step, device).problem() == "");
        }
      }
    }
  }
  CHECK(any);
}

TEST_CASE("block_shape refuses blocks that no GPU has") {
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("block_shape")) continue;
    CHECK_THROWS_AS(step.problem->buffers({8, 8, 0, 32}), UsageError);
    CHECK_THROWS_AS(step.problem->buffers({8, 8, 1024, 2}), UsageError);
    CHECK(step.problem->buffers({8, 8, 1, 1024}).size() == 2);
  }
}

TEST_CASE("lanes: rounds of a group of one, and of two that swap") {
  // alone: (5 + 3 + 1) v per round; two of the same value: as if alone
  const auto last = [](const std::vector<int>& in) {
    std::vector<std::pair<std::string, int>> all;
    DeviceBuffer<int> x(in.size()), y(in.size());
    CUDA_CHECK(cudaMemcpy(x.get(), in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
    for (const Step& step : steps()) {
      if (step.problem->kernel() != std::string("lanes")) continue;
      std::vector<int> out(in.size());
      step.problem->run(Arrays({x.get(), y.get()}), {in.size()});
      CUDA_CHECK(cudaMemcpy(out.data(), y.get(), out.size() * sizeof(int), cudaMemcpyDeviceToHost));
      all.emplace_back(step.name, out.back());
    }
    REQUIRE(!all.empty());
    return all;
  };
  unsigned nine_to_16 = 1;
  for (int round = 0; round < 16; ++round) nine_to_16 *= 9;
  for (const std::vector<int>& in : {std::vector<int>{1}, std::vector<int>{1, 1}, std::vector<int>(33, 1)}) {
    for (const auto& [step, value] : last(in)) {
      INFO(step << " of " << in.size());
      CHECK(static_cast<unsigned>(value) == nine_to_16);
    }
  }
}
