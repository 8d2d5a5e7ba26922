// Beyond the general tests of every step: what a sum promises besides its value.
#include "catch.hpp"
#include "check.hpp"

using namespace ladder;

namespace {

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
  for (const Step& step : steps()) {
    if (step.name == "sum_01_atomic" || step.is_vendor()) continue;
    INFO(step.name);
    const float first = sum_of(step, x.get(), n);
    for (int run = 0; run < 5; ++run) CHECK(sum_of(step, x.get(), n) == first);
  }
}

TEST_CASE("large and small arrays in turn: no state is left behind") {
  const DeviceBuffer<float> x = random_numbers(70000);
  for (const Step& step : steps()) {
    INFO(step.name);
    const float small = sum_of(step, x.get(), 2);
    for (const std::size_t n : {70000, 0, 1, 5000, 2}) sum_of(step, x.get(), n);
    CHECK(sum_of(step, x.get(), 0) == 0);
    CHECK(sum_of(step, x.get(), 2) == small);
  }
}
