// Tests of element-wise kernels beyond the general tests of every step: values that a reader would ask about.
#include "catch.hpp"
#include "runner/check.hpp"

#include <cmath>

using namespace ladder;

namespace {

// Returns f(x) as each step of `kernel`, a function of one variable, computes it.
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
      {{190 * least, -100 * least}, least, {127, -100}},  // 190 / 127 is rounded to 1, and 190 is clamped to 127
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

namespace {

// Runs each step of `kernel` on the inputs. Returns its last buffer of `last` elements, which hold 7 before.
template <typename... Inputs>
std::vector<std::pair<std::string, std::vector<float>>> rows_of(const std::string& kernel, const Size& size,
                                                                std::size_t last, const Inputs&... inputs) {
  std::vector<DeviceBuffer<unsigned char>> memory;
  std::vector<void*> pointers;
  const auto place = [&](const auto& values) {
    const std::size_t bytes = values.size() * sizeof(values[0]);
    memory.emplace_back(bytes);
    pointers.push_back(memory.back().get());
    CUDA_CHECK(cudaMemcpy(pointers.back(), values.data(), bytes, cudaMemcpyHostToDevice));
  };
  (place(inputs), ...);
  const std::vector<float> before(last, 7);
  place(before);
  std::vector<std::pair<std::string, std::vector<float>>> all;
  for (const Step& step : steps()) {
    if (step.problem->kernel() != kernel) continue;
    CUDA_CHECK(cudaMemcpy(pointers.back(), before.data(), last * sizeof(float), cudaMemcpyHostToDevice));
    step.problem->run(Arrays(pointers), size);
    std::vector<float> got(last);
    CUDA_CHECK(cudaMemcpy(got.data(), pointers.back(), last * sizeof(float), cudaMemcpyDeviceToHost));
    all.emplace_back(step.name, got);
  }
  REQUIRE(!all.empty());
  return all;
}

constexpr std::int64_t kFar = std::int64_t{1} << 32;

}  // namespace

TEST_CASE("embedding: ids that repeat, and ids outside, which give zeros") {
  const std::vector<float> table = {1, 2, 3, 4, 5, 6};  // three rows
  const std::vector<std::int64_t> ids = {2, 0, 2, -1, 3, kFar, -kFar, kFar + 1, 1};
  const std::vector<float> want = {5, 6, 1, 2, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4};
  for (const auto& [step, got] : rows_of("embedding", {9, 3, 2}, want.size(), table, ids)) {
    INFO(step);
    CHECK(got == want);
  }
}

TEST_CASE("embedding_grad: rows add up, ids outside are ignored, rows without a token are 0") {
  const std::vector<float> grad = {1, 2, 10, 20, 100, 200, 1000, 2000, 5, 5, 6, 6, 7, 7};
  const std::vector<std::int64_t> ids = {2, 0, 2, 2, -1, 4, kFar + 1};
  const std::vector<int> order = {4, 1, 3, 0, 2, 5, 6};
  const std::vector<float> want = {10, 20, 0, 0, 1101, 2202, 0, 0};
  for (const auto& [step, got] : rows_of("embedding_grad", {7, 4, 2}, want.size(), grad, ids, order)) {
    INFO(step);
    CHECK(got == want);
  }
}

TEST_CASE("embedding_grad: every step but the atomic one has the same bits in every run") {
  const Size size{3000, 7, 33};
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("embedding_grad") || step.id == "01_atomic") continue;
    const Case host(*step.problem, size, step.problem->patterns().front(), 1);
    std::vector<float> first(7 * 33), again(7 * 33);
    for (std::vector<float>* got : {&first, &again, &again}) {
      const DeviceCase device(host, 0, false);
      step.problem->run(device.arrays(), size);
      CUDA_CHECK(cudaMemcpy(got->data(), device.arrays().at<float>(3), got->size() * 4, cudaMemcpyDeviceToHost));
    }
    INFO(step.name);
    CHECK(first == again);
  }
}

TEST_CASE("rope: which elements make a pair, and by how much it turns") {
  const std::vector<float> x = {1, 0, 0, 2};  // a head of two pairs, at position 3: 3 radians, 0.03 radians
  const std::vector<int> position = {3};
  const double c0 = std::cos(3.0), s0 = std::sin(3.0), c1 = std::cos(0.03), s1 = std::sin(0.03);
  const std::vector<double> pairs = {c0, s0, -2 * s1, 2 * c1}, halves = {c0, -2 * s1, s0, 2 * c1};
  DeviceBuffer<float> in(4), out(4);
  DeviceBuffer<int> at(1);
  CUDA_CHECK(cudaMemcpy(in.get(), x.data(), sizeof(float) * 4, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(at.get(), position.data(), sizeof(int), cudaMemcpyHostToDevice));
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("rope")) continue;
    for (const bool apart : {false, true}) {
      step.problem->run(Arrays({in.get(), at.get(), out.get()}), {1, 1, 2, apart ? 1u : 0u});
      std::vector<float> y(4);
      CUDA_CHECK(cudaMemcpy(y.data(), out.get(), sizeof(float) * 4, cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < 4; ++i) {
        INFO(step.name << (apart ? ", halves, " : ", pairs, ") << i << ": " << y[i]);
        CHECK(std::fabs(y[i] - (apart ? halves : pairs)[i]) < 1e-5);
      }
    }
  }
}

TEST_CASE("rgb_to_gray: gray pixels stay as they are, primaries, the nearest of two") {
  std::vector<std::uint8_t> rgb, want;
  for (unsigned v = 0; v < 256; ++v) {
    rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(v));
    want.push_back(static_cast<std::uint8_t>(v));
  }
  const auto add = [&](std::uint8_t r, std::uint8_t g, std::uint8_t b, std::uint8_t gray) {
    rgb.insert(rgb.end(), {r, g, b});
    want.push_back(gray);
  };
  add(255, 0, 0, 76), add(0, 255, 0, 150), add(0, 0, 255, 29);     // 76.245, 149.685, 29.07
  add(0, 0, 4, 0), add(0, 0, 5, 1), add(1, 1, 0, 1);               // 0.456, 0.57, 0.886
  add(0, 250, 250, 175), add(10, 0, 180, 24), add(20, 10, 1, 12);  // 175.25, 23.51, 11.964
  std::vector<std::uint8_t> got(want.size());
  DeviceBuffer<std::uint8_t> in(rgb.size()), out(want.size());
  CUDA_CHECK(cudaMemcpy(in.get(), rgb.data(), rgb.size(), cudaMemcpyHostToDevice));
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("rgb_to_gray")) continue;
    step.problem->run(Arrays({in.get(), out.get()}), {5, want.size() / 5});
    CUDA_CHECK(cudaMemcpy(got.data(), out.get(), got.size(), cudaMemcpyDeviceToHost));
    INFO(step.name);
    CHECK(got == want);
  }
}

// Either pointer may be at any offset from a 16-byte boundary.
TEST_CASE("rgb_to_gray: every offset from a 16-byte boundary") {
  constexpr std::size_t n = 4200;  // more than a tile
  std::vector<std::uint8_t> rgb(3 * n + 16);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(hash(1, 0, i));
  DeviceBuffer<std::uint8_t> in(rgb.size()), out(n + 16);
  CUDA_CHECK(cudaMemcpy(in.get(), rgb.data(), rgb.size(), cudaMemcpyHostToDevice));
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("rgb_to_gray")) continue;
    for (std::size_t offset = 1; offset < 32; ++offset) {
      const std::size_t from = offset < 16 ? offset : 0, to = offset < 16 ? 0 : offset - 15;  // one is 0
      std::vector<std::uint8_t> got(n), want(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t* p = &rgb[from + 3 * i];
        want[i] = static_cast<std::uint8_t>((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
      }
      step.problem->run(Arrays({in.get() + from, out.get() + to}), {1, n});
      CUDA_CHECK(cudaMemcpy(got.data(), out.get() + to, n, cudaMemcpyDeviceToHost));
      INFO(step.name << ", rgb + " << from << ", gray + " << to);
      CHECK(got == want);
    }
  }
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
  // a group of one: (5 + 3 + 1) v per round; two lanes of the same value: the same
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
