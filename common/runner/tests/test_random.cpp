// Tests random shapes: which ones are drawn, what is compared of a large output, and which steps are timed.
#include "catch.hpp"
#include "runner/random.hpp"

#include <functional>
#include <set>

using namespace ladder;

namespace {

// y = 1 for a rows x cols matrix, then changed by `spoil`. Only some rows have answers, as those of a large product.
class Ones : public Problem {
 public:
  using Spoil = std::function<void(std::vector<float>& y)>;
  explicit Ones(Spoil spoil = {}, std::size_t every = 1, double tolerance = 0.5)
      : spoil_(std::move(spoil)), every_(every), tolerance_(tolerance) {}
  const char* family() const override { return "tests"; }
  const char* kernel() const override { return "ones"; }
  std::vector<Dim> dims() const override { return {{"rows", 64, 64, 1 << 20}, {"cols", 64, 64, 1 << 20}}; }
  std::vector<Buffer> buffers(const Size& size) const override { return {output<float>("y", size[0] * size[1])}; }
  void run(const Arrays& device, const Size& size) const override {
    std::vector<float> y(size[0] * size[1], 1.0f);
    if (spoil_) spoil_(y);
    CUDA_CHECK(cudaMemcpy(device.at<float>(0), y.data(), y.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  void expect(const Arrays&, const Size& size, const Range& range, double* want, double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const bool known = has_answer(size, i);
      want[i - range.begin] = known ? 1 : 0;
      scale[i - range.begin] = known ? 1 : std::numeric_limits<double>::infinity();
    }
  }
  bool has_answer(const Size& size, std::size_t element) const override { return element / size[1] % every_ == 0; }
  double tolerance(const Size&) const override { return tolerance_; }
  std::vector<Pattern> patterns() const override { return {{"random", false, patterns::random}}; }
  std::vector<Size> test_sizes() const override { return {{3, 3}}; }
  std::vector<Size> huge_sizes() const override { return {}; }
  std::vector<Size> bench_sizes() const override { return {}; }
  double flops(const Size& size) const override { return 100.0 * static_cast<double>(size[0] * size[1]); }

 private:
  Spoil spoil_;
  std::size_t every_;
  double tolerance_;
};

const Size kSize{1000, 1001};
constexpr Sampling kTenth{1e7, 1 << 20};  // 1e7 of 1e8 FLOP: answers for a tenth of the elements

// Results may be NaN on any data.
class OnesOrNaN : public Ones {
 public:
  using Ones::Ones;
  bool finite_on_random() const override { return false; }
};

// Ones in int32, except that each thousandth result has the poison's bits.
class WholeNumbers : public Ones {
 public:
  using Spoil = std::function<void(std::vector<std::int32_t>& y)>;
  explicit WholeNumbers(Spoil spoil = {}) : spoil_(std::move(spoil)) {}
  static constexpr std::int32_t answer(std::size_t i) {
    return i % 1000 == 1 ? static_cast<std::int32_t>(poison_of(Type::int32) & 0xffffffff) : 1;
  }
  std::vector<Buffer> buffers(const Size& size) const override { return {output<int>("y", size[0] * size[1])}; }
  void run(const Arrays& device, const Size& size) const override {
    std::vector<std::int32_t> y(size[0] * size[1]);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = answer(i);
    if (spoil_) spoil_(y);
    CUDA_CHECK(cudaMemcpy(device.at<int>(0), y.data(), y.size() * sizeof(int), cudaMemcpyHostToDevice));
  }
  void expect(const Arrays&, const Size&, const Range& range, double* want, double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = answer(i);
      scale[i - range.begin] = 0;
    }
  }

 private:
  Spoil spoil_;
};

template <typename Problem = Ones>
Verdict verdict(const Ones::Spoil& spoil, std::size_t every = 1, const Sampling& sampling = kTenth,
                double tolerance = 0.5) {
  const Step step{"ones_01", "01", std::make_unique<Problem>(spoil, every, tolerance)};
  const Case host(*step.problem, kSize, step.problem->patterns().front(), 1, true, sampling);
  DeviceCase device(host, 0, true);
  return check(step, device);
}

Case case_of(const Problem& problem, const Sampling& sampling) {
  return {problem, kSize, problem.patterns().front(), 1, true, sampling};
}

}  // namespace

TEST_CASE("draws depend on the seed and nothing else") {
  Draw one(1), same(1), other(2);
  std::size_t equal = 0;
  for (int i = 0; i < 100; ++i) {
    const double value = one.uniform();
    CHECK(value >= 0);
    CHECK(value < 1);
    CHECK(value == same.uniform());
    equal += value == other.uniform();
  }
  CHECK(equal == 0);
}

TEST_CASE("lengths are log-uniform, odd as often as not, within their limits") {
  Draw draw(3);
  std::size_t odd = 0, below_1000 = 0, ones = 0, of_64 = 0;
  constexpr std::size_t count = 4000;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = draw.length(1000000);
    REQUIRE(length >= 1);
    REQUIRE(length <= 1000000);
    odd += length % 2;
    below_1000 += length < 1000;
    ones += length == 1;
    of_64 += length % 64 == 0;
  }
  CHECK(odd > count * 45 / 100);
  CHECK(odd < count * 60 / 100);
  CHECK(below_1000 > count * 45 / 100);
  CHECK(below_1000 < count * 55 / 100);
  CHECK(ones > count / 50);
  CHECK(of_64 > count / 50);
  for (std::size_t most = 1; most < 200; ++most) {
    const std::size_t length = draw.length(most), near = draw.near(most);
    CHECK(length >= 1);
    CHECK(length <= most);
    CHECK(near <= most);
    CHECK(2 * near >= most);
  }
}

TEST_CASE("leading dimensions") {
  Draw draw(4);
  std::size_t none = 0, aligned = 0, odd = 0;
  constexpr std::size_t count = 2000;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = draw.length(100000), ld = draw.leading(length);
    none += ld == 0;
    if (ld == 0) continue;
    REQUIRE(ld > length);
    REQUIRE(ld <= length + std::max<std::size_t>(5, std::min<std::size_t>(length / 8 + 3, 67)));
    aligned += ld % 4 == 0;
    odd += ld % 2;
  }
  CHECK(none > count * 45 / 100);
  CHECK(none < count * 55 / 100);
  CHECK(aligned + odd + none == count);
  CHECK(odd > count * 20 / 100);
  CHECK(odd < count * 30 / 100);
}

TEST_CASE("a shape depends on kernel, seed and number, not on those drawn before") {
  const Ones problem;
  std::set<std::vector<std::size_t>> seen;
  for (std::size_t number = 0; number < 50; ++number) {
    seen.insert(random_shape(problem, 1, number, kTimedTraffic).dims);
    CHECK(random_shape(problem, 1, number, kTimedTraffic) == random_shape(problem, 1, number, kTimedTraffic));
    CHECK(!(random_shape(problem, 2, number, kTimedTraffic) == random_shape(problem, 1, number, kTimedTraffic)));
  }
  CHECK(seen.size() == 50);
  CHECK_THROWS_AS(random_shape(problem, 1, 0, Traffic{1e15, 2e15}), UsageError);  // more than the dimensions allow
}

TEST_CASE("without sampling all elements have answers") {
  const Ones problem;
  const Case host = case_of(problem, kAllElements);
  CHECK(host.answered_and_all() == std::make_pair(std::size_t{1001000}, std::size_t{1001000}));
  CHECK(host.answered({0, 5, 9}).size() == 1);
}

TEST_CASE("a sample has the size that was asked for, both ends, and parts everywhere") {
  const Ones problem;
  const Case host = case_of(problem, kTenth);
  const auto [answered, all] = host.answered_and_all();
  CHECK(all == 1001000);
  CHECK(answered <= all / 10);
  CHECK(answered > all / 12);
  const std::vector<Range> parts = host.answered({0, 0, all});
  CHECK(parts.front().begin == 0);
  CHECK(parts.back().end == all);
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    CHECK(!host.answered({0, tenth * all / 10, (tenth + 1) * all / 10}).empty());
  }
  std::size_t sum = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    sum += parts[p].end - parts[p].begin;
    if (p > 0) CHECK(parts[p - 1].end <= parts[p].begin);
  }
  CHECK(sum == answered);
  const Case few = case_of(problem, {1e15, 20000});
  CHECK(few.answered_and_all().first <= 20000);
  const Case least = case_of(problem, {1, 1});
  CHECK(least.answered_and_all().first == 8 * 1024);
}

TEST_CASE("an error in the sample is found, wherever it is, with the same bound as without") {
  const Ones problem;
  const Case host = case_of(problem, kTenth);
  const std::vector<Range> parts = host.answered({0, 0, 1001000});
  CHECK(verdict({}).problem() == "");
  for (std::size_t p = 0; p < parts.size(); p += 7) {
    for (const std::size_t at : {parts[p].begin, parts[p].end - 1}) {
      INFO(at);
      for (const Sampling& sampling : {kTenth, kAllElements}) {
        const Verdict wrong = verdict([at](std::vector<float>& y) { y[at] = 1.5001f; }, 1, sampling);
        CHECK(wrong.problem().find("y[" + std::to_string(at) + "] of 1001000 is wrong: got 1.5001") == 0);
        CHECK(verdict([at](std::vector<float>& y) { y[at] = 1.4999f; }, 1, sampling).problem() == "");
      }
    }
  }
}

TEST_CASE("what is not in the sample must be a finite number all the same") {
  const Ones problem;
  const Case host = case_of(problem, kTenth);
  const std::vector<Range> parts = host.answered({0, 0, 1001000});
  const std::size_t between = parts[0].end, last = parts[parts.size() - 1].begin - 1;
  for (const std::size_t at : {between, last}) {
    if (!host.answered({0, at, at + 1}).empty()) continue;
    CHECK(verdict([at](std::vector<float>& y) { y[at] = 7; }).problem() == "");
    CHECK(verdict([at](std::vector<float>& y) { y[at] = std::numeric_limits<float>::quiet_NaN(); }).problem() ==
          "y[" + std::to_string(at) + "] of 1001000 is wrong: got nan, want a finite number");
    const Verdict unwritten = verdict([at](std::vector<float>& y) {
      const std::uint64_t poison = poison_of(Type::float32);
      std::memcpy(&y[at], &poison, sizeof(float));
    });
    CHECK(unwritten.problem() == "y[" + std::to_string(at) + "] of 1001000 was never written (want a finite number)");
  }
}

TEST_CASE("where NaN may be right, what is not compared need only be written") {
  const Ones problem;
  const Case host = case_of(problem, kTenth);
  const std::size_t other = host.answered({0, 0, 1001000}).front().end;  // just after the first compared part
  REQUIRE(other < 1001000);
  const auto with = [other](float value) { return [=](std::vector<float>& y) { y[other] = value; }; };
  CHECK(verdict<OnesOrNaN>(with(std::numeric_limits<float>::quiet_NaN())).problem() == "");
  CHECK(verdict<OnesOrNaN>([](std::vector<float>& y) {
          std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());
        }).problem() != "");
  float unwritten = 0;
  const std::uint64_t poison = poison_of(Type::float32);
  std::memcpy(&unwritten, &poison, sizeof(float));
  CHECK(verdict<OnesOrNaN>(with(unwritten)).problem().find("never written") != std::string::npos);
}

TEST_CASE("a whole number with the poison's bits may be right") {
  const auto verdict_of = [](const WholeNumbers::Spoil& spoil) {
    const Step step{"ones_01", "01", std::make_unique<WholeNumbers>(spoil)};
    const Case host(*step.problem, kSize, step.problem->patterns().front(), 1, true, kTenth);
    DeviceCase device(host, 0, true);
    return check(step, device).problem();
  };
  const WholeNumbers problem;
  const Case host = case_of(problem, kTenth);
  const auto poison = WholeNumbers::answer(1);
  CHECK(verdict_of({}) == "");
  std::size_t compared = 0, others = 0;
  for (std::size_t i = 1; i < 1001000; i += 1000) (host.answered({0, i, i + 1}).empty() ? others : compared) += 1;
  CHECK(compared > 0);
  CHECK(others > 0);
  for (std::size_t i = 0; i < 1001000; i += 77777) {
    const bool known = !host.answered({0, i, i + 1}).empty();
    REQUIRE(WholeNumbers::answer(i) == 1);
    const std::string want = known ? "1)" : "a finite number)";
    CHECK(verdict_of([=](auto& y) {
            y[i] = poison;
          }).find("y[" + std::to_string(i) + "] of 1001000 was never written (want " + want) == 0);
  }
  CHECK(verdict_of([&](auto& y) { std::fill(y.begin(), y.end(), poison); }).find("never written") != std::string::npos);
  const std::size_t first = 1;  // at the beginning, where everything is compared
  REQUIRE(!host.answered({0, first, first + 1}).empty());
  CHECK(verdict_of([=](auto& y) { y[first] = 1; }).find("y[1] of 1001000 is wrong: got 1") != std::string::npos);
}

TEST_CASE("a sample is taken where there are answers") {
  const Ones problem({}, 64);
  const Case host = case_of(problem, kTenth);
  std::size_t known = 0, parts = 0;
  for (const Range& part : host.answered({0, 0, 1001000})) {
    known += problem.has_answer(kSize, part.begin);
    ++parts;
  }
  CHECK(parts > 50);
  CHECK(known > 12);  // of 16 rows with answers
  const std::size_t row = 64 * 1001;
  for (const Range& part : host.answered({0, row - 2000, row + 2000})) {
    if (!problem.has_answer(kSize, part.begin)) continue;
    const std::size_t at = part.begin;
    CHECK(verdict([at](std::vector<float>& y) { y[at] = 3; }, 64).problem().find("is wrong: got 3") !=
          std::string::npos);
  }
}

TEST_CASE("growing sizes") {
  const Ones problem;
  const std::vector<Size> sizes = growing_sizes(problem, {1 << 20, 1000});
  REQUIRE(sizes.size() == 5);
  CHECK(sizes.back() == Size{1 << 20, 1000});
  CHECK(sizes[3] == Size{1 << 16, 1000});
  CHECK(problem.bytes(sizes.front()) <= 1e6);
  CHECK(growing_sizes(problem, {3, 3}) == std::vector<Size>{{3, 3}});
  CHECK(growth(problem, sizes[3], sizes[4]) == Approx(16));
}

TEST_CASE("which steps are timed") {
  CHECK(is_near(13, 10));
  CHECK(!is_near(13.1, 10));
  CHECK(is_near(5, 10));
  CHECK(slow_us(100) == 2e4);  // 20 ms at least: short enough to run the step
  CHECK(slow_us(1e5) == 4e5);
}

TEST_CASE("a choice of steps, by first timings made up") {
  // The time of each step on a matrix whose number of rows varies.
  const auto us_of = [](const std::string& id, const Size& size) {
    const double rows = static_cast<double>(size[0]);
    if (id == "00_library") return 9 * rows;
    if (id == "01_near") return 1.2 * rows;
    if (id == "02_not_near") return 1.5 * rows;
    if (id == "03_slow") return 100 * rows;
    return rows;
  };
  class Refusing : public Ones {
   public:
    std::vector<Buffer> buffers(const Size&) const override { throw UsageError("too many rows"); }
  };
  REQUIRE(steps().empty());
  for (const char* id : {"00_library", "01_near", "02_not_near", "03_slow", "04_refuses", "05_error", "06_top"}) {
    std::unique_ptr<Problem> problem = std::make_unique<Ones>();
    if (id == std::string("04_refuses")) problem = std::make_unique<Refusing>();
    steps().push_back({std::string("ones_") + id, id, std::move(problem)});
  }
  const Size size{1 << 16, 1000};
  std::vector<std::string> asked;
  const auto first_us = [&](const Step& step, const Size& at) {
    if (step.id == "05_error") throw CudaError(cudaErrorInvalidValue, "run", "file.cu", 1);
    asked.push_back(step.id + " " + std::to_string(at[0]));
    return us_of(step.id, at);
  };
  const Choice choice = choose_steps(steps().back(), size, first_us);
  std::vector<std::string> timed, left_out;
  for (const Step* step : choice.timed) timed.push_back(step->id);
  for (const auto& [step, why] : choice.left_out) left_out.push_back(step->id + ": " + why);
  CHECK(timed == std::vector<std::string>{"06_top", "00_library", "01_near", "05_error"});
  CHECK(left_out == std::vector<std::string>{"03_slow: slow, would take some 819 ms", "04_refuses: too many rows"});
  // The library runs at the shape only. Earlier steps start at a small size, and stop when they would take too long.
  CHECK(std::count(asked.begin(), asked.end(), "00_library 65536") == 1);
  CHECK(std::count(asked.begin(), asked.end(), "01_near 65536") == 1);
  CHECK(std::count(asked.begin(), asked.end(), "03_slow 512") == 1);
  CHECK(std::count(asked.begin(), asked.end(), "03_slow 4096") == 0);

  // A library that refuses the size, and a top step that fails.
  const auto refuses = [&](const Step& step, const Size& at) {
    if (step.is_vendor()) throw std::runtime_error("too large for an int");
    return us_of(step.id, at);
  };
  const Choice without = choose_steps(steps().back(), size, refuses);
  CHECK(without.left_out.front().second == "too large for an int");
  CHECK(without.timed[1]->id == "01_near");
  const auto broken = [&](const Step&, const Size&) -> double {
    throw CudaError(cudaErrorInvalidValue, "run", "file.cu", 1);
  };
  CHECK(choose_steps(steps().back(), size, broken).timed.size() == 1);
  steps().clear();
}

TEST_CASE("random checks") {
  const auto step = [](const Ones::Spoil& spoil) { return Step{"ones_01", "01", std::make_unique<Ones>(spoil)}; };
  const Ones domain;
  std::size_t checks = 0, refused = 0;
  CHECK(check_random(step({}), domain, 1, 0, 20, true, &checks, &refused).problem() == "");
  CHECK(checks >= 20);
  CHECK(refused == 0);
  const Step wrong = step([](std::vector<float>& y) {
    if (y.size() > 3000) y.back() = 2;
  });
  const Verdict found = check_random(wrong, domain, 1, 0, 20, true, nullptr);
  CHECK(found.problem().find("random shape ") == 0);
  // The shape's number in the message reproduces the shape and the verdict.
  const std::size_t number = std::stoul(found.problem().substr(std::strlen("random shape ")));
  CHECK(check_random(wrong, domain, 1, number, 1, true, nullptr).problem() == found.problem());
}
