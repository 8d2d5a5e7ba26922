// Beyond the general tests of every step: what a sum promises besides its value.
#include "catch.hpp"
#include "runner/check.hpp"

#include <cmath>
#include <functional>

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

float sum_of(const Step& step, const float* x, std::size_t n) {
  DeviceBuffer<float> out(1);
  step.problem->run(Arrays({const_cast<float*>(x), out.get()}), {n});
  float sum;
  CUDA_CHECK(cudaMemcpy(&sum, out.get(), sizeof sum, cudaMemcpyDeviceToHost));
  return sum;
}

DeviceBuffer<float> random_numbers(std::size_t n) {
  std::vector<float> host(n);
  for (std::size_t i = 0; i < n; ++i) host[i] = static_cast<float>(patterns::random(1, 0, i, n));
  DeviceBuffer<float> x(n);
  CUDA_CHECK(cudaMemcpy(x.get(), host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  return x;
}

}  // namespace

TEST_CASE("every sum but the atomic one has the same bits in every run") {
  const std::size_t n = 300007;
  const DeviceBuffer<float> x = random_numbers(n);
  for (const Step& step : steps_of("sum")) {
    if (step.name == "sum_01_atomic" || step.is_vendor()) continue;
    INFO(step.name);
    const float first = sum_of(step, x.get(), n);
    for (int run = 0; run < 5; ++run) CHECK(sum_of(step, x.get(), n) == first);
  }
}

TEST_CASE("large and small arrays in turn: no state is left behind") {
  const DeviceBuffer<float> x = random_numbers(70000);
  for (const Step& step : steps_of("sum")) {
    INFO(step.name);
    const float small = sum_of(step, x.get(), 2);
    for (const std::size_t n : {70000, 0, 1, 5000, 2}) sum_of(step, x.get(), n);
    CHECK(sum_of(step, x.get(), 0) == 0);
    CHECK(sum_of(step, x.get(), 2) == small);
  }
}

namespace {

// What each step of `kernel` makes of the vectors, as its result's type T. Each vector starts `offset` floats past an
// aligned address, the next one `offset` more.
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
    if (step.is_vendor()) continue;  // these promise nothing about NaN and the sign of zero
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
  for (const float sign : {1.0f, -1.0f}) {  // a NaN may have a sign, too
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
  std::vector<float> x(5003), y(5003);
  double want = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(patterns::integers(1, 0, i, x.size()));
    y[i] = static_cast<float>(patterns::integers(1, 1, i, x.size()));
    want += x[i] * y[i];
  }
  for (const std::size_t offset : {0, 1, 2, 3}) {  // y is off by twice as much
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
