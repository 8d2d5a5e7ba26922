// Tests of the gemv family beyond the general tests of every step.
#include "catch.hpp"
#include "runner/check.hpp"
#include "gemv/gemv_shapes.hpp"
#include "gemv_t/gemv_t_shapes.hpp"
#include "slices.cuh"
#include "runner/options.hpp"

#include <cuda_bf16.h>

#include <functional>
#include <limits>
#include <numeric>
#include <set>

using namespace ladder;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Returns the steps of gemv and gemv_t.
std::vector<std::reference_wrapper<const Step>> dense_steps() {
  std::vector<std::reference_wrapper<const Step>> all;
  for (const Step& step : steps()) {
    const std::string kernel = step.problem->kernel();
    if (kernel == "gemv" || kernel == "gemv_t") all.push_back(step);
  }
  return all;
}

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

// Runs the step on these inputs and returns y.
std::vector<float> result(const Step& step, const Size& size, const std::vector<float>& A, const std::vector<float>& x,
                          std::vector<float> y) {
  const DeviceBuffer<float> device_a = upload(A), device_x = upload(x), device_y = upload(y);
  step.problem->run(Arrays({device_a.get(), device_x.get(), device_y.get()}), size);
  CUDA_CHECK(cudaMemcpy(y.data(), device_y.get(), y.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return y;
}

}  // namespace

TEST_CASE("the identity matrix gives x, bit for bit") {
  for (const Step& step : dense_steps()) {
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
  for (const Step& step : dense_steps()) {
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
  for (const Step& step : dense_steps()) {
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
  for (const Step& step : dense_steps()) {
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
  for (const Step& step : dense_steps()) {
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
  for (const Step& step : dense_steps()) {
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
  const Problem& problem = *dense_steps().front().get().problem;
  CHECK_THROWS_AS(problem.buffers({{4, 8, 7}, {1, 0}}), UsageError);
  CHECK_THROWS_AS(problem.buffers({{std::size_t{1} << 30, 8, std::size_t{1} << 36}, {1, 0}}), UsageError);
  CHECK(problem.buffers({{4, 8, 11}, {1, 0}})[0].count == 3 * 11 + 8);
  CHECK(problem.buffers({{4, 8, 0}, {1, 0}})[0].count == 32);
}

namespace {

const Problem& problem_of(const std::string& kernel) {
  for (const Step& step : steps()) {
    if (step.problem->kernel() == kernel) return *step.problem;
  }
  throw std::logic_error("no step of " + kernel);
}

std::size_t lda(const Size& size) { return size[2] ? size[2] : size[1]; }

}  // namespace

TEST_CASE("gemv by shape: which kernel which matrix takes on 132 SMs") {
  const auto kernel = [](std::size_t m, std::size_t k, bool aligned) { return gemv_kernel(m, k, aligned, 132); };
  // The first kernel whose longest row is long enough, aligned or not.
  for (const bool aligned : {false, true}) {
    for (std::size_t k = 0; k <= 1023; ++k) {
      const std::size_t i = kernel(1000, k, aligned);
      CHECK(i < kFourRows);
      CHECK(k <= kGemvShapes[i].longest);
      if (i > 0) CHECK(k > kGemvShapes[i - 1].longest);
    }
  }
  // The shapes of the tables, and other ones, aligned and not.
  CHECK(kernel(4096, 4096, true) == kBlockPerRow);
  CHECK(kernel(8192, 8192, true) == kLongRow);
  CHECK(kernel(65536, 1024, true) == kFourRows);
  CHECK(kernel(1024, 65536, true) == kLongRow);
  CHECK(kernel(8189, 4093, false) == kBlockPerRow);
  CHECK(kernel(100003, 2001, false) == kFourRows);
  CHECK(kernel(180064, 1040, true) == kWarpPerRow);  // the second pass of 1024 elements would be empty
  CHECK(kernel(508755, 1543, false) == kWarpPerRow);
  CHECK(kernel(2240, 9252, true) == kBlockPerRow);  // the second pass of 1024 threads would be an eighth full
  CHECK(kernel(8192, 8192, false) == kBlockPerRow);
  CHECK(kernel(1, 10000019, true) == kLongRow);
  CHECK(kernel(2, 10000019, false) == kBlockPerRow);
  CHECK(kernel(1021, 50257, false) == kBlockPerRow);
  CHECK(gemv_longest_slice(50257, false) == 8192);
  CHECK(gemv_longest_slice(50257, true) == 131072);
  CHECK(gemv_longest_slice(20000, false) == 131072);
}

// kFourRows and kWarpPerRow need 128 rows per SM.
TEST_CASE("gemv by shape: the test sizes reach every kernel on 4 SMs, those of the CPU backend") {
  std::set<std::pair<std::size_t, bool>> reached;
  for (const Size& size : problem_of("gemv").test_sizes()) {
    const bool aligned = lda(size) % 4 == 0 || size[0] == 1;
    reached.insert({gemv_kernel(size[0], size[1], aligned, 4), aligned});
  }
  for (std::size_t i = 0; i < std::size(kGemvShapes); ++i) {
    for (const bool aligned : {false, true}) {
      INFO("kernel " << i << ", aligned: " << aligned);
      CHECK(reached.count({i, aligned}) == (i == kLongRow && !aligned ? 0u : 1u));
    }
  }
}

TEST_CASE("gemv_t by shape: which tile which matrix takes on 132 SMs") {
  const auto shape = [](std::size_t m, std::size_t k, bool vector, bool small) {
    const GemvTShape s = gemv_t_shape(m, k, vector, small, 132);
    const std::size_t width = std::size_t{s.width} * s.columns;
    CHECK(s.width <= s.block);
    CHECK(width * s.tiles >= k);
    CHECK(width * (s.tiles - 1) < k);
    return std::vector<std::size_t>{s.columns, s.block, s.width, s.tiles, s.slices};
  };
  using Tile = std::vector<std::size_t>;
  CHECK(shape(4096, 4096, true, true) == Tile{4, 1024, 8, 128, 1});
  CHECK(shape(8192, 8192, true, true) == Tile{4, 1024, 16, 128, 1});
  CHECK(shape(16384, 16384, true, false) == Tile{4, 1024, 32, 128, 1});
  CHECK(shape(73932, 800, true, true) == Tile{4, 1024, 32, 7, 18});  // small, but tall
  CHECK(shape(5000, 5000, true, true) == Tile{4, 1024, 16, 79, 1});
  CHECK(shape(805, 196864, true, false) == Tile{4, 1024, 32, 1538, 1});
  CHECK(shape(1000000, 300, true, false) == Tile{4, 1024, 32, 3, 44});
  CHECK(shape(1000000, 136, true, false) == Tile{4, 1024, 34, 1, 0});  // of two tiles of 32 one would be nearly empty
  CHECK(shape(8189, 4093, false, true) == Tile{4, 1024, 32, 32, 0});
  CHECK(shape(4093, 8189, false, true) == Tile{4, 256, 32, 64, 0});
  CHECK(shape(3000017, 37, false, true) == Tile{4, 1024, 10, 1, 0});
  CHECK(shape(3000017, 31, false, true) == Tile{1, 1024, 31, 1, 0});
  CHECK(shape(865025, 327, false, false) == Tile{4, 1024, 28, 3, 0});
  CHECK(shape(1, 10000019, false, true) == Tile{4, 256, 256, 9766, 0});
  CHECK(shape(20, 100000, true, true) == Tile{4, 256, 128, 196, 0});
  CHECK(shape(50, 100000, true, true) == Tile{4, 256, 64, 391, 0});
  CHECK(shape(70, 1, false, true) == Tile{1, 1024, 1, 1, 0});
}

TEST_CASE("gemv_t by shape: the test sizes reach every tile", "[cpu]") {
  if (sm_count() > 4) return;  // the tiles depend on the number of SMs
  std::set<std::vector<std::size_t>> reached;
  for (const Size& size : problem_of("gemv_t").test_sizes()) {
    if (size[1] == 0) continue;
    const bool vector = (lda(size) % 4 == 0 || size[0] <= 1) && size[1] % 4 == 0;
    const GemvTShape s = gemv_t_shape(size[0], size[1], vector, true, 4);
    reached.insert({s.columns, vector, s.block, s.fixed_width ? s.width : 0, s.tiles > 1});
  }
  // columns per thread, float4, threads, fixed width, several tiles
  const std::set<std::vector<std::size_t>> wanted = {{1, 0, 256, 0, 0},  {1, 0, 1024, 0, 0},  {4, 0, 256, 0, 0},
                                                     {4, 0, 256, 0, 1},  {4, 0, 1024, 0, 0},  {4, 0, 1024, 0, 1},
                                                     {4, 1, 256, 0, 0},  {4, 1, 256, 0, 1},   {4, 1, 1024, 0, 0},
                                                     {4, 1, 1024, 8, 1}, {4, 1, 1024, 16, 1}, {4, 1, 1024, 32, 1}};
  for (const auto& tile : wanted) {
    CAPTURE(tile);
    CHECK(reached.count(tile) == 1);
  }
}

TEST_CASE("slices fill whole waves, and no more than are allowed") {
  CHECK(slices_for(1, 132, 1000) == 132);
  CHECK(slices_for(1, 132, 50) == 50);
  CHECK(slices_for(1, 132, 0) == 1);
  CHECK(slices_for(128, 264, 1000, 8) == 8);
  CHECK(slices_for(1, 132, 3, 9) == 3);
  CHECK(slices_for(1000, 132, 1000, 2) == 2);
  CHECK(slices_for(100, 132, 1000) == 9);  // 900 blocks in 7 waves of 132, the fewest waves that are 95 % full
  CHECK(slices_for(128, 132, 1000) == 1);
  CHECK(slices_for(5000, 132, 1000) == 1);
}

namespace {

struct Csr {
  std::size_t cols;
  std::vector<int> offsets, columns;
  std::vector<float> values;
};

// Returns y = A x as a step of spmv computes it. y holds NaN before.
std::vector<float> product(const Step& step, const Csr& a, const std::vector<float>& x) {
  const auto device = [](const std::vector<int>& host) {
    DeviceBuffer<int> buffer(host.size());
    CUDA_CHECK(cudaMemcpy(buffer.get(), host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
    return buffer;
  };
  const std::size_t rows = a.offsets.size() - 1;
  const DeviceBuffer<int> offsets = device(a.offsets), columns = device(a.columns);
  std::vector<float> y(rows, kNaN);
  const DeviceBuffer<float> values = upload(a.values), device_x = upload(x), device_y = upload(y);
  step.problem->run(Arrays({offsets.get(), columns.get(), values.get(), device_x.get(), device_y.get()}),
                    {rows, a.cols, rows == 0 ? 0 : a.values.size() / rows, 0});
  CUDA_CHECK(cudaMemcpy(y.data(), device_y.get(), y.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return y;
}

}  // namespace

TEST_CASE("spmv: by hand") {
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("spmv")) continue;
    INFO(step.name);
    using Vector = std::vector<float>;
    // columns out of order, one of them twice; x is NaN where no column is
    CHECK(product(step, {4, {0, 3, 4}, {2, 0, 2, 1}, {1, 10, 100, 7}}, {1, 2, 3, kNaN}) == Vector{313, 14});
    // empty rows before, between and after others
    CHECK(product(step, {1, {0, 0, 2, 2, 4}, {0, 0, 0, 0}, {1, 2, 3, 4}}, {1}) == Vector{0, 3, 0, 7});
    CHECK(product(step, {1, {0, 2, 4, 4, 4}, {0, 0, 0, 0}, {1, 2, 3, 4}}, {1}) == Vector{3, 7, 0, 0});
    CHECK(product(step, {3, {0, 0, 0}, {}, {}}, {1, 2, 3}) == Vector{0, 0});
    // all nonzeros in the first row or in the last, over many tiles
    const int many = 40000;
    Csr one{many, {0, many, many}, std::vector<int>(many), Vector(many, 1.0f)};
    std::iota(one.columns.begin(), one.columns.end(), 0);
    CHECK(product(step, one, Vector(many, 1.0f)) == Vector{many, 0});
    one.offsets = {0, 0, many};
    CHECK(product(step, one, Vector(many, 1.0f)) == Vector{0, many});
  }
}

TEST_CASE("gemv_w8: a one-hot x picks a column of the dequantized matrix, bit for bit") {
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("gemv_w8")) continue;
    for (const std::size_t k : {1, 127, 128, 129, 272, 300}) {
      INFO(step.name << ", k = " << k);
      const std::size_t n = 9, groups = (k + 127) / 128;
      std::vector<std::int8_t> weights(n * k);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::int8_t>(hash(1, 0, i));
      const std::vector<float> scales = random_numbers(n * groups, 2);
      const DeviceBuffer<std::int8_t> device_w(weights.size());
      CUDA_CHECK(cudaMemcpy(device_w.get(), weights.data(), weights.size(), cudaMemcpyHostToDevice));
      const DeviceBuffer<float> device_scales = upload(scales), device_y(n);
      const DeviceBuffer<__nv_bfloat16> device_x(k);
      for (std::size_t j = 0; j < k; j += j < 120 ? 17 : 1) {
        std::vector<__nv_bfloat16> x(k, __float2bfloat16(0));
        x[j] = __float2bfloat16(1);
        CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), k * sizeof x[0], cudaMemcpyHostToDevice));
        step.problem->run(Arrays({device_w.get(), device_scales.get(), device_x.get(), device_y.get()}), {n, k});
        std::vector<float> y(n), want(n);
        CUDA_CHECK(cudaMemcpy(y.data(), device_y.get(), n * sizeof(float), cudaMemcpyDeviceToHost));
        for (std::size_t r = 0; r < n; ++r) want[r] = scales[r * groups + j / 128] * weights[r * k + j];
        CHECK(y == want);
      }
    }
  }
}

TEST_CASE("gemv_w4: by hand") {
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("gemv_w4")) continue;
    INFO(step.name);
    const auto upload_bytes = [](const std::vector<std::uint8_t>& host) {
      DeviceBuffer<std::uint8_t> buffer(host.size());
      CUDA_CHECK(cudaMemcpy(buffer.get(), host.data(), host.size(), cudaMemcpyHostToDevice));
      return buffer;
    };
    // rows 1, 2, 3 and 15, 0, 8; the high half of a row's last byte is no weight
    const DeviceBuffer<std::uint8_t> W = upload_bytes({0x21, 0xf3, 0x0f, 0x58}), zeros = upload_bytes({8, 0});
    const DeviceBuffer<float> scales = upload({0.5f, 2.0f}), y = upload({kNaN, kNaN});
    const std::vector<__nv_bfloat16> x = {__float2bfloat16(1), __float2bfloat16(10), __float2bfloat16(100)};
    const DeviceBuffer<__nv_bfloat16> device_x(x.size());
    CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), x.size() * sizeof x[0], cudaMemcpyHostToDevice));
    step.problem->run(Arrays({W.get(), scales.get(), zeros.get(), device_x.get(), y.get()}), {2, 3});
    std::vector<float> got(2);
    CUDA_CHECK(cudaMemcpy(got.data(), y.get(), 2 * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(got == std::vector<float>{0.5f * (-7 - 60 - 500), 2.0f * (15 + 800)});
  }
}

// Each row of Y depends only on its own row of X, and weights that equal their zero point add 0.
TEST_CASE("gemv_w4_rows: a one-hot row of X picks a column of the dequantized matrix, bit for bit") {
  constexpr std::size_t m = 11, n = 18, groups = 3, k = 128 * groups;
  std::vector<std::uint8_t> weights(n * k / 2), zeros(n * groups);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::uint8_t>(hash(1, 0, i));
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = hash(2, 0, i) % 16;
  const std::vector<float> scales = random_numbers(n * groups, 3);
  const DeviceBuffer<std::uint8_t> device_w(weights.size()), device_zeros(zeros.size());
  CUDA_CHECK(cudaMemcpy(device_w.get(), weights.data(), weights.size(), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_zeros.get(), zeros.data(), zeros.size(), cudaMemcpyHostToDevice));
  const DeviceBuffer<float> device_scales = upload(scales), device_y(m * n);
  const DeviceBuffer<__nv_bfloat16> device_x(m * k);
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("gemv_w4_rows")) continue;
    for (std::size_t first = 0; first < k; first += m) {
      INFO(step.name << ", from column " << first);
      std::vector<__nv_bfloat16> X(m * k, __float2bfloat16(0));
      std::vector<float> got(m * n), want(m * n);
      for (std::size_t i = 0; i < m; ++i) {
        const std::size_t j = (first + i) % k;
        X[i * k + j] = __float2bfloat16(1);
        for (std::size_t r = 0; r < n; ++r) {
          const int q = weights[(r * k + j) / 2] >> j % 2 * 4 & 15, zero = zeros[r * groups + j / 128];
          want[i * n + r] = scales[r * groups + j / 128] * static_cast<float>(q - zero);
        }
      }
      CUDA_CHECK(cudaMemcpy(device_x.get(), X.data(), X.size() * sizeof X[0], cudaMemcpyHostToDevice));
      step.problem->run(
          Arrays({device_w.get(), device_scales.get(), device_zeros.get(), device_x.get(), device_y.get()}),
          {m, n, groups});
      CUDA_CHECK(cudaMemcpy(got.data(), device_y.get(), got.size() * sizeof(float), cudaMemcpyDeviceToHost));
      CHECK(got == want);
    }
  }
}
