// Tests that the checker rejects wrong results and accepts right ones. The "kernels" are copies made by the host, each
// with one error.
#include "any_shape.cuh"
#include "catch.hpp"
#include "runner/check.hpp"

#include <functional>
#include <set>

using namespace ladder;

namespace {

constexpr std::size_t kCount = 1000;

// y[i] = x[i] within `tolerance`. `kernel` gets device pointers.
class FakeCopy : public Problem {
 public:
  using Kernel = std::function<void(float* x, float* y)>;
  FakeCopy(Kernel kernel, double tolerance) : kernel_(std::move(kernel)), tolerance_(tolerance) {}

  const char* family() const override { return "tests"; }
  const char* kernel() const override { return "fake"; }
  std::vector<Dim> dims() const override { return {{"n", kCount, kCount, kCount}}; }
  std::vector<Buffer> buffers(const Size& size) const override {
    return {input<float>("x", size[0]), output<float>("y", size[0])};
  }
  void run(const Arrays& device, const Size&) const override { kernel_(device.at<float>(0), device.at<float>(1)); }
  void expect(const Arrays& host, const Size&, const Range& range, double* want, double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = host.at<const float>(0)[i];
      scale[i - range.begin] = 1;
    }
  }
  double tolerance(const Size&) const override { return tolerance_; }
  std::vector<Pattern> patterns() const override { return {{"integer", false, patterns::integers}}; }
  std::vector<Size> test_sizes() const override { return {{kCount}}; }
  std::vector<Size> huge_sizes() const override { return {}; }
  std::vector<Size> bench_sizes() const override { return {}; }

 private:
  Kernel kernel_;
  double tolerance_;
};

void copy(const float* x, float* y, std::size_t n = kCount) {
  CUDA_CHECK(cudaMemcpy(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice));
}
float peek(const float* p) {
  float value;
  CUDA_CHECK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}
void poke(float* p, float value) { CUDA_CHECK(cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice)); }

Verdict verdict_on(FakeCopy::Kernel kernel, double tolerance = 0,
                   Pattern pattern = {"integer", false, patterns::integers}, std::size_t offset = 0) {
  const Step step{"fake_01", "01", std::make_unique<FakeCopy>(std::move(kernel), tolerance)};
  const Case host(*step.problem, {kCount}, pattern, 1);
  DeviceCase device(host, offset, true);
  return check(step, device);
}

bool mentions(const Verdict& verdict, const std::string& text) {
  INFO(verdict.problem());
  const bool found = verdict.problem().find(text) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("a right result passes, aligned or not") {
  for (const std::size_t offset : {0, 1, 2, 3}) {
    CHECK(verdict_on([](float* x, float* y) { copy(x, y); }, 0, {"integer", false, patterns::integers}, offset).ok());
    CHECK(verdict_on([](float* x, float* y) { copy(x, y); }, 0, {"special", false, patterns::special}, offset).ok());
  }
}

TEST_CASE("what is wrong is rejected, and said") {
  SECTION("nothing written") {
    mentions(verdict_on([](float*, float*) {}), "y[0] of 1000 was never written");
  }
  SECTION("the last element not written") {
    const Verdict v = verdict_on([](float* x, float* y) { copy(x, y, kCount - 1); });
    mentions(v, "y[999] of 1000 was never written");
  }
  SECTION("a stale result of an earlier run") {
    float* stale = nullptr;
    const Step step{"fake_01", "01",
                    std::make_unique<FakeCopy>(
                        [&](float* x, float* y) {
                          if (stale == nullptr) copy(x, y);
                          stale = y;
                        },
                        0.0)};
    const Case host(*step.problem, {kCount}, {"integer", false, patterns::integers}, 1);
    DeviceCase device(host, 0, true);
    CHECK(check(step, device).ok());
    mentions(check(step, device), "was never written");
  }
  SECTION("one wrong element") {
    const Verdict v = verdict_on([](float* x, float* y) {
      copy(x, y);
      poke(y + 777, peek(x + 777) + 1);
    });
    mentions(v, "y[777] of 1000 is wrong: got ");
  }
  SECTION("several wrong elements: the first few are named") {
    const Verdict v = verdict_on([](float* x, float* y) {
      copy(x, y);
      for (const int i : {900, 31, 63, 95, 127, 159}) poke(y + i, 100);
    });
    mentions(v, "y[31] of 1000 is wrong: got 100");
    mentions(v, "; 6 are wrong in all, the next at [63] [95] [127]");
  }
  SECTION("NaN, whatever the tolerance") {
    const Verdict v = verdict_on(
        [](float* x, float* y) {
          copy(x, y);
          poke(y + 5, std::numeric_limits<float>::quiet_NaN());
        },
        1e30);
    mentions(v, "y[5] of 1000 is wrong: got nan");
  }
  SECTION("a number where NaN is due") {
    const Verdict v = verdict_on(
        [](float* x, float* y) {
          copy(x, y);
          for (std::size_t i = 0; i < kCount; ++i) {
            if (std::isnan(peek(x + i))) poke(y + i, 0);
          }
        },
        1e30, {"special", false, patterns::special});
    mentions(v, "want nan");
  }
  SECTION("a finite number where infinity is due") {
    const Verdict v = verdict_on(
        [](float* x, float* y) {
          copy(x, y);
          for (std::size_t i = 0; i < kCount; ++i) {
            if (std::isinf(peek(x + i))) poke(y + i, std::copysign(std::numeric_limits<float>::max(), peek(x + i)));
          }
        },
        1e30, {"special", false, patterns::special});
    mentions(v, "want inf");
  }
  SECTION("a wrong sign") {
    mentions(verdict_on([](float* x, float* y) {
               copy(x, y);
               poke(y + 3, -peek(x + 3));
             }),
             "y[3] of 1000 is wrong");
  }
  SECTION("a wrong sign of zero") {
    mentions(verdict_on(
                 [](float* x, float* y) {
                   copy(x, y);
                   poke(y + 1, 0.0f);  // patterns::special has -0 here
                 },
                 0, {"special", false, patterns::special}),
             "y[1] of 1000 is wrong: got 0, want -0");
  }
  SECTION("a write one past the end") {
    mentions(verdict_on([](float* x, float* y) {
               copy(x, y);
               poke(y + kCount, 0);
             }),
             "y was written past its end, at index 1000 of 1000");
  }
  SECTION("a copy that overruns, from one guard band to the other") {
    mentions(verdict_on([](float* x, float* y) { copy(x, y, kCount + 1); }), "y was written past its end");
  }
  SECTION("a write one before the start") {
    for (const std::size_t offset : {0, 1}) {
      mentions(verdict_on(
                   [](float* x, float* y) {
                     copy(x, y);
                     poke(y - 1, 0);
                   },
                   0, {"integer", false, patterns::integers}, offset),
               "y was written before its start");
    }
  }
  SECTION("a changed input") {
    mentions(verdict_on([](float* x, float* y) {
               copy(x, y);
               poke(x + 42, 0);
             }),
             "the input x was changed, first at index 42");
  }
  SECTION("a CUDA error") {
    mentions(verdict_on([](float*, float*) { throw CudaError(cudaErrorLaunchFailure, "kernel", "step.cu", 12); }),
             "step.cu:12: kernel: ");
  }
}

namespace {

Verdict check_all_of(FakeCopy::Kernel kernel, double tolerance = 0) {
  CheckPlan plan;
  plan.sizes = {{kCount}};
  plan.guarded = true;
  return check_all({"fake_01", "01", std::make_unique<FakeCopy>(std::move(kernel), tolerance)}, plan);
}

bool multiple_of(std::size_t bytes, const float* p) { return reinterpret_cast<std::uintptr_t>(p) % bytes == 0; }

// 16-byte accesses to x and y: like a GPU, fails if one is misaligned.
void copy_by_float4(const float* x, float* y) {
  if (!multiple_of(16, x) || !multiple_of(16, y)) throw CudaError(cudaErrorMisalignedAddress, "kernel", "step.cu", 12);
  copy(x, y);
}

}  // namespace

namespace {

// FakeCopy with special values as a second pattern. If `corner` is not empty, integers are a corner.
class FakePage : public FakeCopy {
 public:
  FakePage(Kernel kernel, std::string corner) : FakeCopy(std::move(kernel), 0), corner_(std::move(corner)) {}
  std::vector<Pattern> patterns() const override {
    return {{"integer", false, patterns::integers}, {"special", false, patterns::special}};
  }
  std::string corner(const Size&, const Pattern& pattern) const override {
    return std::string(pattern.name) == "integer" ? corner_ : "";
  }

 private:
  std::string corner_;
};

// Returns the kinds of remarks on a candidate, or "FAIL".
std::string remarks_on(FakeCopy::Kernel kernel, const std::string& corner = "") {
  const Step step{"fake_01", "01", std::make_unique<FakePage>(std::move(kernel), corner)};
  std::vector<Remark> remarks;
  CheckPlan plan;
  plan.sizes = {{kCount}};
  plan.remarks = &remarks;
  if (!check_all(step, plan).ok()) return "FAIL";
  std::string kinds;
  for (const Remark& remark : remarks) kinds += remark.kind + remark.lesson + ' ';
  return kinds;
}

}  // namespace

TEST_CASE("what an interviewer would accept passes, with a remark") {
  const auto change = [](float* x, float* y, const std::function<bool(float)>& which, float value) {
    copy(x, y);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (which(peek(x + i))) poke(y + i, value);
    }
  };
  const auto is_aligned = [](const float* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  CHECK(remarks_on([](float* x, float* y) { copy(x, y); }) == "");
  CHECK(remarks_on([&](float* x, float* y) {
          if (is_aligned(x) && is_aligned(y)) copy(x, y);
        }) == "alignment ");
  CHECK(remarks_on([&](float* x, float* y) {
          change(
              x, y, [](float v) { return std::isnan(v); }, 0);
        }) == "NaN ");
  CHECK(remarks_on([&](float* x, float* y) {
          change(
              x, y, [](float v) { return v == 0; }, 0);
        }) == "");  // 0 for -0 is accepted
  const auto wrong_integer = [&](float* x, float* y) {
    change(
        x, y, [](float v) { return v == 3; }, 4);
  };
  CHECK(remarks_on(wrong_integer, "threes count ") == "cornerthrees count  ");
  CHECK(remarks_on(wrong_integer) == "FAIL");
  CHECK(remarks_on([](float* x, float* y) { copy(x, y, kCount + 1); }, "threes count ") == "FAIL");
}

TEST_CASE("each buffer has its own offset") {
  CHECK(check_all_of([](float* x, float* y) { copy(x, y); }).problem() == "");
  SECTION("of two pointers one is tested") {
    mentions(check_all_of([](float* x, float* y) { multiple_of(16, x) ? copy_by_float4(x, y) : copy(x, y); }),
             "n=1000, integer data, x + 0, y + 1");
    mentions(check_all_of([](float* x, float* y) { multiple_of(16, y) ? copy_by_float4(x, y) : copy(x, y); }),
             "n=1000, integer data, x + 1, y + 0");
  }
  SECTION("8 bytes for 16") {
    mentions(check_all_of([](float* x, float* y) {
               multiple_of(8, x) && multiple_of(8, y) ? copy_by_float4(x, y) : copy(x, y);
             }),
             "x + 2, y + 2");
    mentions(check_all_of([](float* x, float* y) {
               multiple_of(16, x) && multiple_of(8, y) ? copy_by_float4(x, y) : copy(x, y);
             }),
             "x + 0, y + 2");
  }
  SECTION("the ways: each alone, none twice, single elements never") {
    const std::vector<Buffer> two = {input<float>("x", 9), input<float>("y", 9), output<float>("out", 1)};
    std::vector<std::string> ways;
    for (const Offsets& offsets : misalignments(two)) ways.push_back(describe(offsets, two));
    CHECK(ways.size() == 9);
    const auto has = [&](const char* way) { return std::count(ways.begin(), ways.end(), way) == 1; };
    for (const char* way : {"x + 1, y + 1, out + 0", "x + 2, y + 2, out + 0", "x + 3, y + 3, out + 0",
                            "x + 1, y + 0, out + 0", "x + 2, y + 0, out + 0", "x + 0, y + 2, out + 0"}) {
      CHECK(has(way));
    }
    CHECK(misalignments({input<float>("x", 9), output<float>("out", 1)}).size() == 3);
    CHECK(describe(Offsets(0), two) == "");
  }
}

TEST_CASE("a result that was kept from an earlier run on the same buffers is wrong") {
  std::vector<std::pair<const float*, std::vector<float>>> kept;
  mentions(check_all_of([&](float* x, float* y) {
             auto known = std::find_if(kept.begin(), kept.end(), [=](const auto& entry) { return entry.first == x; });
             if (known == kept.end()) {
               std::vector<float> values(kCount);
               CUDA_CHECK(cudaMemcpy(values.data(), x, kCount * sizeof(float), cudaMemcpyDeviceToHost));
               known = kept.insert(kept.end(), {x, values});
             }
             CUDA_CHECK(cudaMemcpy(y, known->second.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
           }),
           "the second run on these buffers: y[");
}

TEST_CASE("what is read past the ends shows in a sum") {
  for (const int at : {-1, static_cast<int>(kCount)}) {
    for (const float factor : {1.0f, 1e-30f}) {
      mentions(check_all_of(
                   [=](float* x, float* y) {
                     copy(x, y);
                     poke(y + 5, peek(x + 5) + factor * peek(x + at));
                   },
                   1e-3),
               "y[5] of 1000 is wrong: got nan");
    }
  }
  CHECK(guard_of(Type::int32, 3) % 2 == 1);
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16, Type::int32, Type::int64}) {
    for (std::size_t b = 0; b < 8; ++b) {
      const std::uint64_t word = guard_of(type, b);
      const double value = load_element(type, &word, 0).value;
      CHECK((std::isnan(value) || value > 2e9));
      CHECK(!is_poison(type, load_element(type, &word, 0)));
      CHECK(word != guard_of(type, b + 1));
    }
  }
}

#if defined(CUDA_EMU)
TEST_CASE("an input that is written and put back") {
  if (kAddressSanitizer) return;  // there, device memory is not allocated in pages
  for (const std::size_t at : {0, 42, 999}) {
    mentions(verdict_on([=](float* x, float* y) {
               copy(x, y);
               const float before = peek(x + at);
               poke(x + at, 0);
               poke(x + at, before);
             }),
             "the input x was written, first at index " + std::to_string(at) + ", though all its values are the same");
  }
}

// A library's step may have wider bounds than the steps after it. If they shared its answers, wrong results would pass.
TEST_CASE("the answers for a step hold for another one only if the scales of their errors agree") {
  class Wider : public FakeCopy {
   public:
    using FakeCopy::FakeCopy;
    void expect(const Arrays& host, const Size& size, const Range& range, double* want, double* scale) const override {
      FakeCopy::expect(host, size, range, want, scale);
      for (std::size_t i = range.begin; i < range.end; ++i) scale[i - range.begin] *= i < kCount / 2 ? 1 : 2;
    }
  };
  const auto right = [](float* x, float* y) { copy(x, y); };
  const FakeCopy problem(right, 0), same(right, 1);
  const Wider wider(right, 0);
  const Case host(problem, {kCount}, problem.patterns().front(), 1);
  CHECK(host.holds_for(same));
  CHECK(!host.holds_for(wider));
}

TEST_CASE("every step is checked in both orders of threads, and the order is as before afterwards") {
  if (kAddressSanitizer) return;  // there, a size is run in one order only
  const std::string before = cuda_emu::order_name();
  std::vector<std::string> seen;
  CHECK(check_all_of([&](float* x, float* y) {
          copy(x, y);
          seen.push_back(cuda_emu::order_name());
        }).ok());
  for (const std::string& order : thread_orders()) CHECK(std::count(seen.begin(), seen.end(), order) >= 4);
  CHECK(cuda_emu::order_name() == before);
  if (std::getenv("CUDA_EMU_ORDER") == nullptr) {
    CHECK(thread_orders().size() == 2);
    const FakeCopy problem([](float* x, float* y) { copy(x, y); }, 0);
    for (const std::size_t pattern : {0, 1}) {
      std::set<std::string> in_turns;
      for (std::size_t turn = 0; turn < 6; ++turn) {
        for (const Variation& way : variations(problem, {kCount}, pattern, 4, turn, true)) in_turns.insert(way.order);
      }
      CHECK(in_turns.size() == 3);
    }
    mentions(check_all_of([&](float* x, float* y) { copy(x, y, cuda_emu::order_name()[0] == 'f' ? kCount : 7); }),
             "integer data, threads in reverse order: y[7] of 1000 was never written");
  }
}
#endif

TEST_CASE("elements in any order, up to a place") {
  constexpr std::size_t free = 10;
  class Shuffle : public FakeCopy {
   public:
    using FakeCopy::FakeCopy;
    std::size_t in_any_order(const Arrays&, const Size&, std::size_t) const override { return free; }
  };
  // copies, reverses the first `reversed` elements, then applies `change`
  const auto verdict = [](
                           std::size_t reversed, const std::function<void(float* y)>& change = [](float*) {}) {
    const auto kernel = [&](float* x, float* y) {
      copy(x, y);
      for (std::size_t i = 0; i < reversed; ++i) poke(y + i, peek(x + reversed - 1 - i));
      change(y);
    };
    // distinct numbers, so that the order shows
    const Pattern rising{"rising", false, [](auto, auto, std::size_t i, auto) { return static_cast<double>(i + 1); }};
    const Step step{"fake_01", "01", std::make_unique<Shuffle>(kernel, 0)};
    const Case host(*step.problem, {kCount}, rising, 1);
    DeviceCase device(host, 0, true);
    return check(step, device);
  };
  CHECK(verdict(0).problem() == "");
  CHECK(verdict(free).problem() == "");
  mentions(verdict(free + 1), "y[0] of 1000 is wrong: got 11, want 1, must be equal, in any order; 2 are wrong in all");
  mentions(verdict(free, [](float* y) { poke(y, 4); }),
           "y[6] of 1000 is wrong: got 4, want 10, must be equal, in any order");
  mentions(verdict(free, [](float* y) { poke(y + 3, std::numeric_limits<float>::quiet_NaN()); }),
           "y[3] of 1000 is wrong: got nan, want 7, must be equal, in any order");
  mentions(verdict(free, [](float* y) { poke(y, peek(y + 1)), poke(y + 2, 0); }), "; 2 are wrong in all");
  mentions(verdict(free, [](float* y) { poke(y + 10, 0); }), "y[10] of 1000 is wrong: got 0, want 11, must be equal");
}

TEST_CASE("a buffer that is input and output") {
  // y = x + y
  class AddTo : public FakeCopy {
   public:
    using FakeCopy::FakeCopy;
    std::vector<Buffer> buffers(const Size& size) const override {
      return {input<float>("x", size[0]), inout<float>("y", size[0])};
    }
    void expect(const Arrays& host, const Size&, const Range& range, double* want, double* scale) const override {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        want[i - range.begin] = host.at<const float>(0)[i] + host.at<const float>(1)[i];
        scale[i - range.begin] = 0;
      }
    }
  };
  const auto add = [](float* x, float* y) {
    for (std::size_t i = 0; i < kCount; ++i) poke(y + i, peek(x + i) + peek(y + i));
  };
  const Step right{"fake_01", "01", std::make_unique<AddTo>(add, 0)};
  const Step idle{"fake_02", "02", std::make_unique<AddTo>([](float*, float*) {}, 0)};
  const Case host(*right.problem, {kCount}, {"integer", false, patterns::integers}, 1);
  DeviceCase device(host, 0, true);
  for (int run = 0; run < 2; ++run) CHECK(check(right, device).problem() == "");  // y is restored before each run
  mentions(check(idle, device), "y[0] of 1000 is wrong");
  CHECK(right.problem->bytes({kCount}) == 12.0 * kCount);
}

namespace {

// h[i] = x[i] in half precision and k[i] = 2^40 x[i] in int64, with buffers in any place. `kernel` may access its
// pointers if the host can.
class Widths : public Problem {
 public:
  using Kernel = std::function<void(const __half* x, __half* h, std::int64_t* k, std::size_t n)>;
  Widths(Kernel kernel, Place place) : kernel_(std::move(kernel)), place_(place) {}

  const char* family() const override { return "tests"; }
  const char* kernel() const override { return "widths"; }
  std::vector<Dim> dims() const override { return {{"n", 1, 1, kCount}}; }
  std::vector<Buffer> buffers(const Size& size) const override {
    return {input<__half>("x", size[0]), output<__half>("h", size[0]), output<std::int64_t>("k", size[0])};
  }
  void run(const Arrays& arrays, const Size& size) const override {
    kernel_(arrays.at<const __half>(0), arrays.at<__half>(1), arrays.at<std::int64_t>(2), size[0]);
  }
  Place place() const override { return place_; }
  void expect(const Arrays& host, const Size&, const Range& range, double* want, double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double x = __half2float(host.at<const __half>(0)[i]);
      want[i - range.begin] = range.buffer == 1 ? x : std::ldexp(x, 40);
      scale[i - range.begin] = 1;
    }
  }
  double tolerance(const Size&) const override { return 0; }
  std::vector<Pattern> patterns() const override { return {{"integer", true, patterns::integers}}; }
  std::vector<Size> test_sizes() const override { return {{0}, {1}, {3}, {kCount}}; }
  std::vector<Size> huge_sizes() const override { return {}; }
  std::vector<Size> bench_sizes() const override { return {}; }

 private:
  Kernel kernel_;
  Place place_;
};

// Computes the right results for elements [0, n).
void widen(const __half* x, __half* h, std::int64_t* k, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    h[i] = x[i];
    k[i] = static_cast<std::int64_t>(__half2float(x[i])) * (std::int64_t{1} << 40);
  }
}

Verdict widths_verdict(Widths::Kernel kernel, Place place = Place::pageable) {
  CheckPlan plan;
  plan.sizes = {{0}, {1}, {3}, {kCount}};
  plan.guarded = true;
  return check_all({"widths_01", "01", std::make_unique<Widths>(std::move(kernel), place)}, plan);
}

}  // namespace

TEST_CASE("halves and 64-bit integers, in the host's memory") {
  CHECK(bytes_of(Type::float16) == 2);
  CHECK(bytes_of(Type::bfloat16) == 2);
  CHECK(bytes_of(Type::int64) == 8);
  for (const Place place : {Place::pageable, Place::pinned}) CHECK(widths_verdict(widen, place).problem() == "");
  mentions(widths_verdict([](const __half*, __half*, std::int64_t*, std::size_t) {}), "h[0] of 1 was never written");
  mentions(widths_verdict([](const __half* x, __half* h, std::int64_t* k, std::size_t n) {
             widen(x, h, k, n);
             if (n == 3) std::memset(h + 2, 0, sizeof *h);
           }),
           "h[2] of 3 is wrong: got 0");
  mentions(widths_verdict([](const __half* x, __half* h, std::int64_t* k, std::size_t n) {
             for (std::size_t i = 0; i < n; ++i) h[i] = x[i], k[i] = static_cast<std::int32_t>(1 << 30);
           }),
           "k[0] of 1 is wrong: got 1.07374182e+09");
  mentions(widths_verdict([](const __half* x, __half* h, std::int64_t* k, std::size_t n) {
             widen(x, h, k, n);
             k[n] = 0;
           }),
           "k was written past its end, at index ");
  mentions(widths_verdict([](const __half* x, __half* h, std::int64_t* k, std::size_t n) {
             for (std::size_t i = 0; i + 1 < n; ++i) widen(x + i, h + i, k + i, 1);
           }),
           "h[0] of 1 was never written");
}

TEST_CASE("halves in device memory") {
  const auto copy_halves = [](const __half* x, __half* h, std::int64_t* k, std::size_t n) {
    std::vector<__half> values(n + 1), copies(n + 1);
    std::vector<std::int64_t> wide(n + 1);
    CUDA_CHECK(cudaMemcpy(values.data(), x, 2 * n, cudaMemcpyDeviceToHost));
    widen(values.data(), copies.data(), wide.data(), n);
    CUDA_CHECK(cudaMemcpy(h, copies.data(), 2 * n, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(k, wide.data(), 8 * n, cudaMemcpyHostToDevice));
  };
  CHECK(widths_verdict(copy_halves, Place::device).problem() == "");
}

TEST_CASE("random data alone: each size aligned, and with a misalignment that changes") {
  std::vector<std::size_t> offsets;
  CheckPlan plan;
  plan.sizes = {{kCount}, {kCount}};
  plan.every_pattern = false;
  std::size_t checks = 0;
  const auto note = [&](float* x, float* y) {
    offsets.push_back(reinterpret_cast<std::uintptr_t>(x) % 16 / sizeof(float));
    copy(x, y);
  };
  CHECK(check_all({"fake_01", "01", std::make_unique<FakeCopy>(note, 0.0)}, plan, &checks).ok());
  CHECK(checks == 4);
  CHECK(offsets == std::vector<std::size_t>{0, 1, 0, 2});

  const auto aligned_only = [](float* x, float* y) {
    if (reinterpret_cast<std::uintptr_t>(x) % 16 == 0) copy(x, y);
  };
  mentions(check_all({"fake_01", "01", std::make_unique<FakeCopy>(aligned_only, 0.0)}, plan), "was never written");
}

TEST_CASE("the bound is inclusive, and no more") {
  // integers have magnitudes 1 to 4, so adding 1/8 is exact in float
  const auto off_by = [](float error) {
    return [error](float* x, float* y) {
      copy(x, y);
      poke(y + 9, peek(x + 9) + error);
    };
  };
  CHECK(verdict_on(off_by(0.125f), 0.125).ok());
  CHECK(verdict_on(off_by(0.125f), 0.125).worst == 1);
  CHECK(verdict_on(off_by(-0.125f), 0.125).ok());
  mentions(verdict_on(off_by(0.125f), 0.1249), "error 0.125 above bound 0.125");
  CHECK(!verdict_on(off_by(-0.125f), 0.1249).ok());
  // on exact data results must be bit-equal, whatever the tolerance
  CHECK(!verdict_on(off_by(0.125f), 0.125, {"integer", true, patterns::integers}).ok());
}

TEST_CASE("an infinite scale: any finite number will do") {
  class OddUnknown : public FakeCopy {  // the expected values of odd elements are unknown
   public:
    using FakeCopy::FakeCopy;
    void expect(const Arrays& host, const Size& size, const Range& range, double* want, double* scale) const override {
      FakeCopy::expect(host, size, range, want, scale);
      for (std::size_t i = range.begin | 1; i < range.end; i += 2) {
        want[i - range.begin] = 0;
        scale[i - range.begin] = std::numeric_limits<double>::infinity();
      }
    }
  };
  const auto with = [](std::size_t i, float value, bool exact) {
    const auto kernel = [=](float* x, float* y) {
      copy(x, y);
      poke(y + i, value);
    };
    const Step step{"fake_01", "01", std::make_unique<OddUnknown>(kernel, 0)};
    const Case host(*step.problem, {kCount}, {"integer", exact, patterns::integers}, 1);
    DeviceCase device(host, 0, true);
    return check(step, device);
  };
  for (const bool exact : {false, true}) {
    CHECK(with(11, 77, exact).problem() == "");
    mentions(with(12, 77, exact), "y[12] of 1000 is wrong: got 77");
    mentions(with(11, std::numeric_limits<float>::quiet_NaN(), exact), "y[11] of 1000 is wrong: got nan");
    mentions(with(11, std::numeric_limits<float>::infinity(), exact), "y[11] of 1000 is wrong: got inf");
    const std::uint64_t bits = poison_of(Type::float32);
    float poison;
    std::memcpy(&poison, &bits, sizeof poison);
    mentions(with(11, poison, exact), "y[11] of 1000 was never written");
  }
}

TEST_CASE("CUDA_CHECK names the call, the place and the error") {
  try {
    CUDA_CHECK(cudaErrorMemoryAllocation);
    FAIL("no exception");
  } catch (const CudaError& error) {
    CHECK(error.code == cudaErrorMemoryAllocation);
    CHECK(std::string(error.what()).find("test_check.cpp:") != std::string::npos);
    CHECK(std::string(error.what()).find("cudaErrorMemoryAllocation") != std::string::npos);
  }
}

TEST_CASE("small helpers") {
  STATIC_REQUIRE(ceil_div(0, 4) == 0);
  STATIC_REQUIRE(ceil_div(1, 4) == 1);
  STATIC_REQUIRE(ceil_div(4, 4) == 1);
  STATIC_REQUIRE(ceil_div(5, 4) == 2);
  STATIC_REQUIRE(ceil_div((std::size_t{1} << 33) + 1, 256) == (std::size_t{1} << 25) + 1);
  CHECK(aligned_for<float4>(reinterpret_cast<float*>(64)));
  CHECK(!aligned_for<float4>(reinterpret_cast<float*>(64), reinterpret_cast<float*>(68)));
  DeviceBuffer<float> a(3);
  float* p = a.get();
  const DeviceBuffer<float> b(std::move(a));
  CHECK(b.get() == p);
  CHECK(a.get() == nullptr);
  CHECK(b.count() == 3);
  const float *one = scratch<float, struct One>(3), *two = scratch<float, struct Two>(3);
  CHECK(scratch<float, struct One>(2) == one);
  CHECK(one != two);
}

TEST_CASE("patterns are functions of seed, buffer and index, and differ in each") {
  for (std::size_t i = 0; i < 1000; ++i) {
    const double r = patterns::random(1, 0, i, 1000);
    CHECK((r >= -1 && r < 1 && r == static_cast<float>(r)));
    CHECK(r != patterns::random(2, 0, i, 1000));
    CHECK(r != patterns::random(1, 1, i, 1000));
    const double k = patterns::integers(1, 0, i, 1000);
    CHECK((k != 0 && std::fabs(k) <= 4 && k == std::floor(k)));
  }
  CHECK(patterns::tail(1, 0, 999, 1000) == 1);
  CHECK(patterns::tail(1, 0, 996, 1000) == 8);
  CHECK(patterns::tail(1, 0, 995, 1000) == 0);
}

TEST_CASE("what expect needs of the inputs as a whole is computed once, and reaches it") {
  class Digesting : public FakeCopy {
   public:
    Digesting() : FakeCopy([](float* x, float* y) { copy(x, y); }, 1) {}
    std::vector<double> digest(const Arrays& host, const Size& size) const override {
      ++digests;
      return {host.at<const float>(0)[0], static_cast<double>(size[0])};
    }
    void expect(const Arrays& host, const Size& size, const Range& range, double* want, double* scale) const override {
      REQUIRE(host.digest() == std::vector<double>{host.at<const float>(0)[0], static_cast<double>(size[0])});
      FakeCopy::expect(host, size, range, want, scale);
    }
    mutable int digests = 0;
  };
  const Step step{"fake_01", "01", std::make_unique<Digesting>()};
  const Case host(*step.problem, {kCount}, {"integer", false, patterns::integers}, 1);
  DeviceCase device(host, 0, true);
  CHECK(check(step, device).ok());
  CHECK(static_cast<const Digesting&>(*step.problem).digests == 1);
}

TEST_CASE("steps that the device cannot run are taken out") {
  CHECK(meets(75, ""));
  CHECK(meets(90, "sm_90"));
  CHECK(meets(100, "sm_90"));
  CHECK(!meets(89, "sm_90"));
  CHECK(meets(90, "sm_90a"));
  CHECK(!meets(100, "sm_90a"));
  CHECK(!meets(80, "sm_90a"));

  for (const char* needs : {"", "sm_999", "sm_20"}) {
    steps().push_back({std::string("fake_") + needs, "fake", nullptr, needs});
  }
  const std::vector<Step> unsupported = take_out_unsupported_steps();
  REQUIRE(unsupported.size() == 1);
  CHECK(unsupported[0].needs == "sm_999");
  REQUIRE(steps().size() == 2);
  CHECK(steps()[0].needs == "");
  CHECK(steps()[1].needs == "sm_20");
  steps().clear();
}

namespace {

// Two candidates that copy: `whole` accepts every call, `aligned` only aligned ones. If not 0, `damage` is a wrong
// value that `aligned` writes.
struct CopyCall {
  const float* x;
  float* y;
  Shape shape() const { return {kCount, alignment(x), alignment(y)}; }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(y, kCount, false);
  }
};
float damage = 0;
std::size_t whole_runs = 0, aligned_runs = 0;
const Candidate<CopyCall> kCopies[] = {
    {"whole", [](const CopyCall&) { return true; },
     [](const CopyCall& call) {
       ++whole_runs;
       copy(call.x, call.y);
     }},
    {"aligned", [](const CopyCall& call) { return aligned_for<float4>(call.x, call.y); },
     [](const CopyCall& call) {
       ++aligned_runs;
       copy(call.x, call.y);
       if (damage != 0) poke(call.y + 5, damage);
     }}};

}  // namespace

TEST_CASE("of a program for any shape every candidate is checked where it accepts the case") {
  const Step step{"fake_any_shape", "any_shape",
                  std::make_unique<FakeCopy>(
                      [](float* x, float* y) {
                        launch_fastest(kCopies, CopyCall{x, y});
                      },
                      0.0)};
  const Case host(*step.problem, {kCount}, {"integer", false, patterns::integers}, 1);
  const auto verdict = [&](std::size_t offset) {
    DeviceCase device(host, offset, true);
    whole_runs = aligned_runs = 0;
    return check_candidates(step, device);
  };
  damage = 0;
  CHECK(verdict(0).ok());
  CHECK(whole_runs == 1);
  CHECK(aligned_runs == 1);
  CHECK(verdict(1).ok());
  CHECK(whole_runs == 1);
  CHECK(aligned_runs == 0);
  damage = 77;
  CHECK(verdict(1).ok());
  mentions(verdict(0), "candidate aligned: y[5] of 1000 is wrong: got 77");

  candidate_run() = {};
  DeviceCase device(host, 1, true);
  CHECK(check(step, device).ok());
  CHECK(std::string(candidate_run().taken) == "whole");
  setenv("LADDER_CHOICE", "aligned", 1);
  candidate_run().again = true;  // the shapes are known already
  CHECK_THROWS_AS(check(step, device), UsageError);
  DeviceCase aligned(host, 0, true);
  CHECK_FALSE(check(step, aligned).ok());
  CHECK(std::string(candidate_run().taken) == "aligned");
  unsetenv("LADDER_CHOICE");
  damage = 0;
  if (!may_time()) return;
  // On a GPU the candidates are timed on outputs of their own, once per shape.
  whole_runs = aligned_runs = 0;
  CHECK(check(step, aligned).ok());
  const std::size_t timed = whole_runs + aligned_runs;
  CHECK(timed > 4);
  candidate_run().again = false;
  CHECK(check(step, aligned).ok());
  CHECK(whole_runs + aligned_runs == timed + 1);
}
