// Beyond the general tests of every step: values that a reader would ask about.
#include "catch.hpp"
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
