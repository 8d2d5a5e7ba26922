// Tests that reports are valid and complete whatever the figures, and that memory requirements are right.
#include "catch.hpp"
#include "runner/footprint.hpp"
#include "runner/report.hpp"

#include <cmath>

using namespace ladder;

namespace {

// `steps` time steps over a domain of n cells. Every result is `answer`.
class Fake : public Problem {
 public:
  explicit Fake(float answer = 0, double bound = 1) : answer_(answer), bound_(bound) {}
  const char* family() const override { return "tests"; }
  const char* kernel() const override { return "fake"; }
  std::vector<Dim> dims() const override { return {{"n", 100, 100, 1 << 30}, {"steps", 1, 1, 1000}, {"ld", 0, 0, 9}}; }
  std::vector<Buffer> buffers(const Size& size) const override {
    return {input<float>("x", size[0]), output<float>("y", size[0])};
  }
  void run(const Arrays& device, const Size& size) const override {
    const std::vector<float> y(size[0], answer_);
    CUDA_CHECK(cudaMemcpy(device.at<float>(1), y.data(), size[0] * sizeof(float), cudaMemcpyHostToDevice));
  }
  void expect(const Arrays&, const Size&, const Range& range, double* want, double* scale) const override {
    std::fill(want, want + (range.end - range.begin), 1.0);
    std::fill(scale, scale + (range.end - range.begin), bound_);
  }
  double tolerance(const Size&) const override { return 1; }
  std::vector<Pattern> patterns() const override { return {{"integer", false, patterns::integers}}; }
  std::vector<Size> test_sizes() const override { return {{100, 1, 0}}; }
  std::vector<Size> huge_sizes() const override { return {}; }
  std::vector<Size> bench_sizes() const override { return {}; }
  double bytes(const Size& size) const override { return 8.0 * static_cast<double>(size[0] * size[1]); }
  double scratch_bytes(const Size& size) const override { return 4.0 * static_cast<double>(size[0]); }

 private:
  float answer_;
  double bound_;
};

Step fake_step(float answer = 1) { return {"fake_01_x", "01_x", std::make_unique<Fake>(answer)}; }

std::string json_of(float answer) {
  const Step step = fake_step(answer);
  const Case host(*step.problem, {100, 1, 0}, step.problem->patterns().front(), 1);
  DeviceCase device(host, 0, true);
  return to_json({&step, {100, 1, 0}, check(step, device)}, "cpu");
}

}  // namespace

TEST_CASE("a row's JSON") {
  const Step step = fake_step();
  Row row{&step, {100, 2, 0}, {}};
  CHECK(to_json(row, "cpu") ==
        "{\"family\": \"tests\", \"kernel\": \"fake\", \"step\": \"01_x\", \"backend\": \"cpu\", "
        "\"size\": {\"n\": 100, \"steps\": 2}, \"bytes\": 1600, \"max_error_over_bound\": 0, \"verified\": true}");

  row.cold = {25, 2.0, 1.5, 0.01, 1980, 0};
  row.warm = {7, 1.0, 0.9, -1, 0, 0};
  row.vs_vendor = 1.25;
  row.of_ceiling = 0.5;
  row.figures = {{"clocks", 12}, {"ratio", std::nan("")}};
  row.remark = "rows copied \"first\"";
  CHECK(to_json(row, "cuda") ==
        "{\"family\": \"tests\", \"kernel\": \"fake\", \"step\": \"01_x\", \"backend\": \"cuda\", "
        "\"size\": {\"n\": 100, \"steps\": 2}, \"bytes\": 1600, \"cold_us\": 2.00, \"cold_min_us\": 1.50, "
        "\"cold_spread\": 0.0100, \"samples\": 25, \"sm_mhz\": 1980, \"warm_us\": 1.00, \"gbps\": 0.8, "
        "\"of_ceiling\": 0.5000, \"vs_vendor\": 1.2500, \"figures\": {\"clocks\": 12, \"ratio\": null}, "
        "\"remark\": \"rows copied \\\"first\\\"\", "
        "\"max_error_over_bound\": 0, \"verified\": true}");

  row.cold = {3, 2.0, 1.5, -1, 0, 2};
  const std::string few = to_json(row, "cuda");
  CHECK(few.find("cold_spread") == std::string::npos);
  CHECK(few.find("\"samples\": 3, \"throttled\": 2") != std::string::npos);
  CHECK(few.find("sm_mhz") == std::string::npos);
}

TEST_CASE("the JSON of a random shape") {
  const Step step = fake_step();
  Row row{&step, {100, 2, 0}, {}};
  row.shape = 17;
  row.compared = 0.25;
  CHECK(to_json(row, "cuda").find("\"shape\": 17, \"bytes\": 1600") != std::string::npos);
  CHECK(to_json(row, "cuda").find("\"compared\": 0.25, \"verified\": true}") != std::string::npos);
  row.left_out = "a \"quoted\" \\ reason\n";
  CHECK(to_json(row, "cuda") ==
        "{\"family\": \"tests\", \"kernel\": \"fake\", \"step\": \"01_x\", \"backend\": \"cuda\", "
        "\"size\": {\"n\": 100, \"steps\": 2}, \"shape\": 17, \"left_out\": \"a \\\"quoted\\\" \\\\ reason \"}");
}

TEST_CASE("results without end and NaN leave the JSON valid") {
  CHECK(json_of(1).find("\"max_error_over_bound\": 0, \"verified\": true") != std::string::npos);
  CHECK(json_of(3).find("\"max_error_over_bound\": 2, \"verified\": false") != std::string::npos);
  CHECK(json_of(INFINITY).find("\"max_error_over_bound\": null, \"verified\": false") != std::string::npos);
  CHECK(json_of(NAN).find("\"verified\": false") != std::string::npos);
  for (const float answer : {INFINITY, -INFINITY, NAN}) {
    const std::string json = json_of(answer);
    CHECK(json.find(": inf") == std::string::npos);
    CHECK(json.find(": -inf") == std::string::npos);
    CHECK(json.find(": nan") == std::string::npos);
  }
}

TEST_CASE("the ceiling's arrays do not grow with the number of time steps") {
  const Fake problem;
  const std::size_t n = 1 << 20;
  for (const std::size_t steps : {1, 2, 200}) {
    const CeilingPlan plan = plan_ceiling(problem, {n, steps, 0});
    CHECK(plan.launches == steps);
    CHECK(plan.bytes_each == 8 * n);
    // two buffers and a scratch array of 4 n bytes each, and 8 n bytes for the ceiling
    CHECK(memory_needed(problem, {n, steps, 0}, true) == Approx(20.0 * n + (1 << 20)));
  }
  CHECK(plan_ceiling(problem, {n, 0, 0}).launches == 1);
  CHECK(plan_ceiling(problem, {0, 1, 0}).bytes_each == 0);
}

TEST_CASE("the floor of a device, and what was measured beside it") {
  const Step step = fake_step();
  Row row{&step, {1000000, 2, 0}, {}};
  row.cold = {25, 100.0, 90.0, 0.01, 1590, 0};
  CHECK(floor_line(row, {320, 8.1}) == "floor: 16.0 MB at 320 GB/s, the memory's clock times its width, take 50.0 us");
  row.of_ceiling = 0.625;
  CHECK(floor_line(row, {320, 8.1}) ==
        "floor: 16.0 MB at 320 GB/s, the memory's clock times its width, take 50.0 us; a copy took 62.5 us, 256 GB/s, "
        "80% of that");
  CHECK(floor_line(row, {}) == "floor: 16.0 MB; a copy took 62.5 us, 256 GB/s");
  struct Product : Fake {
    double flops(const Size&) const override { return 8.1e9; }
  };
  const Step product{"product_01_x", "01_x", std::make_unique<Product>()};
  row.step = &product;
  CHECK(floor_line(row, {0, 8.1}) ==
        "floor: 16.0 MB; a copy took 62.5 us, 256 GB/s; 8.10 GFLOP at 8.1 TFLOP/s, the peak without tensor cores, take "
        "1000.0 us");
  CHECK(rate(row, 10, 320) == "1600 (L2)");
  CHECK(rate(row, 10, 0) == "1600");
}

TEST_CASE("LADDER_MEMORY is a size") {
  CHECK(parse_memory("8G") == 8.0 * (1 << 30));
  CHECK(parse_memory("1.5M") == 1.5 * (1 << 20));
  CHECK(parse_memory("4096") == 4096);
  for (const char* bad : {"", "G", "8GB", "8X", "KM", "0", "-1G", "nan", "inf", "8 G"}) {
    CHECK_THROWS_AS(parse_memory(bad), UsageError);
  }
  const Fake problem;
  setenv("LADDER_MEMORY", "1M", 1);
  CHECK_NOTHROW(require_free(problem, {100, 1, 0}, 1 << 20));
  CHECK_THROWS_AS(require_free(problem, {100, 1, 0}, 2 << 20), UsageError);
  unsetenv("LADDER_MEMORY");
}
