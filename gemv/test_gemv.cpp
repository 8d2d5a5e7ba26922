// Beyond the general tests of every step: what gemv and gemv_t promise besides their values.
#include "catch.hpp"
#include "runner/check.hpp"
#include "runner/options.hpp"

#include <limits>

using namespace ladder;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

bool is_transposed(const Step& step) { return step.problem->kernel() == std::string("gemv_t"); }
bool is_deterministic(const Step& step) { return step.name != "gemv_t_02_tile_atomics" && !step.is_vendor(); }

DeviceBuffer<float> upload(const std::vector<float>& host) {
  DeviceBuffer<float> device(host.size());
  if (!host.empty()) {
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  return device;
}

std::vector<float> random_numbers(std::size_t n, std::uint64_t seed) {
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(patterns::random(seed, 0, i, n));
  return numbers;
}

// y after the step ran on these.
std::vector<float> result(const Step& step, const Size& size, const std::vector<float>& A, const std::vector<float>& x,
                          std::vector<float> y) {
  const DeviceBuffer<float> device_a = upload(A), device_x = upload(x), device_y = upload(y);
  step.problem->run(Arrays({device_a.get(), device_x.get(), device_y.get()}), size);
  CUDA_CHECK(cudaMemcpy(y.data(), device_y.get(), y.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return y;
}

}  // namespace

TEST_CASE("the identity matrix gives x, bit for bit") {
  for (const Step& step : steps()) {
    for (const std::size_t n : {1, 5, 32, 100, 259}) {
      INFO(step.name << ", n = " << n);
      std::vector<float> identity(n * n, 0.0f);
      for (std::size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
      const std::vector<float> x = random_numbers(n, 1);
      CHECK(result(step, {{n, n, 0}, {1, 0}}, identity, x, std::vector<float>(n, kNaN)) == x);
    }
  }
}

TEST_CASE("what is multiplied by 0 is not read") {
  const std::size_t m = 70, k = 130;
  const std::vector<float> A = random_numbers(m * k, 1);
  const std::vector<float> nan_a(m * k, kNaN);
  for (const Step& step : steps()) {
    INFO(step.name);
    const std::size_t in = is_transposed(step) ? m : k, out = m + k - in;
    const std::vector<float> x = random_numbers(in, 2), y = random_numbers(out, 3);
    const std::vector<float> nan_x(in, kNaN), nan_y(out, kNaN), zero(out, 0.0f);
    const Size only_product = {{m, k, 0}, {1, 0}}, only_y = {{m, k, 0}, {0, 1}}, nothing = {{m, k, 0}, {0, 0}};
    if (is_deterministic(step)) {
      CHECK(result(step, only_product, A, x, nan_y) == result(step, only_product, A, x, zero));
    }
    for (const float v : result(step, only_product, A, x, nan_y)) CHECK(v == v);
    CHECK(result(step, only_y, nan_a, nan_x, y) == y);
    CHECK(result(step, nothing, nan_a, nan_x, nan_y) == zero);
  }
}

TEST_CASE("scaling by powers of two is exact, and beta = 1 adds") {
  const std::size_t m = 97, k = 203;
  const std::vector<float> A = random_numbers(m * k, 1);
  for (const Step& step : steps()) {
    if (!is_deterministic(step)) continue;
    INFO(step.name);
    const std::size_t in = is_transposed(step) ? m : k, out = m + k - in;
    const std::vector<float> x = random_numbers(in, 2), zero(out, 0.0f);
    const std::vector<float> once = result(step, {{m, k, 0}, {1, 0}}, A, x, zero);
    const std::vector<float> minus_four = result(step, {{m, k, 0}, {-4, 0}}, A, x, zero);
    const std::vector<float> twice = result(step, {{m, k, 0}, {1, 1}}, A, x, once);
    const std::vector<float> none = result(step, {{m, k, 0}, {1, -1}}, A, x, once);
    for (std::size_t i = 0; i < out; ++i) {
      CHECK(minus_four[i] == -4 * once[i]);
      CHECK(twice[i] == 2 * once[i]);
      CHECK(none[i] == 0);
    }
  }
}

TEST_CASE("NaN between the rows stays there") {
  for (const Step& step : steps()) {
    for (const std::size_t k : {1, 3, 13, 32, 61, 301}) {
      for (const std::size_t lda : {k + 1, (k + 4) / 4 * 4, (k + 7) / 4 * 4}) {
        INFO(step.name << ", k = " << k << ", lda = " << lda);
        const std::size_t m = 19, in = is_transposed(step) ? m : k, out = m + k - in;
        std::vector<float> A(m * lda, kNaN);
        for (std::size_t i = 0; i < m; ++i) std::fill_n(A.begin() + i * lda, k, 1.0f);
        const std::vector<float> x(in, 1.0f), want(out, static_cast<float>(in));
        CHECK(result(step, {{m, k, lda}, {1, 0}}, A, x, std::vector<float>(out, kNaN)) == want);
      }
    }
  }
}

TEST_CASE("every step but the atomic one gives the same bits in every run") {
  const std::size_t m = 37, k = 20011;
  const std::vector<float> A = random_numbers(m * k, 1);
  for (const Step& step : steps()) {
    if (!is_deterministic(step)) continue;
    INFO(step.name);
    const bool transposed = is_transposed(step);
    const Size size = {{transposed ? k : m, transposed ? m : k, 0}, {1, 0}};  // the long sums in both cases
    const std::vector<float> x = random_numbers(k, 2), y(m, 0.0f);
    const std::vector<float> first = result(step, size, A, x, y);
    for (int run = 0; run < 3; ++run) CHECK(result(step, size, A, x, y) == first);
  }
}

TEST_CASE("large and small matrices in turn: no state is left behind") {
  for (const Step& step : steps()) {
    INFO(step.name);
    const auto ones = [&](std::size_t m, std::size_t k) {
      const std::size_t in = is_transposed(step) ? m : k, out = m + k - in;
      const std::vector<float> got = result(step, {{m, k, 0}, {1, 0}}, std::vector<float>(m * k, 1.0f),
                                            std::vector<float>(in, 1.0f), std::vector<float>(out, kNaN));
      CHECK(got == std::vector<float>(out, static_cast<float>(in)));
    };
    ones(2, 3);
    ones(3, 20000);
    ones(20000, 3);
    ones(0, 4);
    ones(4, 0);
    ones(2, 3);
  }
}

TEST_CASE("a leading dimension below k is refused") {
  const Problem& problem = *steps().front().problem;
  CHECK_THROWS_AS(problem.buffers({{4, 8, 7}, {1, 0}}), UsageError);
  CHECK_THROWS_AS(problem.buffers({{std::size_t{1} << 30, 8, std::size_t{1} << 36}, {1, 0}}), UsageError);
  CHECK(problem.buffers({{4, 8, 11}, {1, 0}})[0].count == 3 * 11 + 8);
  CHECK(problem.buffers({{4, 8, 0}, {1, 0}})[0].count == 32);
}
