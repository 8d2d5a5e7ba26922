// Tests of what softmax promises besides its values, beyond the general tests of every step.
#include "catch.hpp"
#include "cross_entropy/cross_entropy_shapes.hpp"
#include "runner/check.hpp"

#include <cuda_bf16.h>

#include <cmath>
#include <limits>
#include <set>

using namespace ladder;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// `count` vectors of `length` elements: a step's rows, columns or single vector.
struct Shape {
  std::size_t count, length;
};

bool is(const Step& step, const char* kernel) { return step.problem->kernel() == std::string(kernel); }
bool is_softmax(const Step& step) { return is(step, "softmax") || is(step, "row_softmax") || is(step, "col_softmax"); }
bool can_have(const Step& step, std::size_t count) { return !is(step, "softmax") || count == 1; }

Size size_of(const Step& step, Shape shape) {
  if (is(step, "softmax")) return {shape.length};
  if (is(step, "row_softmax")) return {shape.count, shape.length};
  return {shape.length, shape.count};
}

// Returns the index of element j of vector i.
std::size_t place(const Step& step, Shape shape, std::size_t i, std::size_t j) {
  return is(step, "col_softmax") ? j * shape.count + i : i * shape.length + j;
}

std::vector<float> result(const Step& step, Shape shape, const std::vector<float>& x) {
  DeviceBuffer<float> device_x(x.size()), device_y(x.size());
  std::vector<float> y(x.size(), kNaN);
  const std::size_t bytes = x.size() * sizeof(float);
  CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_y.get(), y.data(), bytes, cudaMemcpyHostToDevice));
  step.problem->run(Arrays({device_x.get(), device_y.get()}), size_of(step, shape));
  CUDA_CHECK(cudaMemcpy(y.data(), device_y.get(), bytes, cudaMemcpyDeviceToHost));
  return y;
}

std::vector<float> random_numbers(std::size_t n) {
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(8 * patterns::random(1, 0, i, n));
  return numbers;
}

// Lengths below and above a warp, a block, and what the steps hold on chip.
constexpr std::size_t kLengths[] = {1, 2, 5, 32, 33, 128, 1000, 1024, 4100, 70000};
constexpr std::size_t kCounts[] = {1, 3, 34};

template <typename Body>
void for_shapes(const Body& body) {
  for (const Step& step : steps()) {
    for (const std::size_t count : kCounts) {
      for (const std::size_t length : kLengths) {
        if (!is_softmax(step) || !can_have(step, count) || count * length > 80000) continue;
        INFO(step.name << ", " << count << " of " << length);
        body(step, Shape{count, length});
      }
    }
  }
}

}  // namespace

TEST_CASE("each vector adds up to 1 within the bound") {
  for_shapes([](const Step& step, Shape shape) {
    const std::vector<float> y = result(step, shape, random_numbers(shape.count * shape.length));
    // Each y is within tolerance * y * (1 + (|x - m| + mean) / 8) of the exact one, and |x - m| and mean are at most
    // 16.
    const double bound = step.problem->tolerance(size_of(step, shape)) * (1 + (16.0 + 16) / 8) + 1e-15;
    for (std::size_t i = 0; i < shape.count; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < shape.length; ++j) sum += y[place(step, shape, i, j)];
      CHECK(std::fabs(sum - 1) <= bound);
    }
  });
}

TEST_CASE("one -inf gives exactly 0 there, and the rest what it gives without it") {
  for_shapes([](const Step& step, Shape shape) {
    std::vector<float> x(shape.count * shape.length, 2.0f);
    const std::size_t masked = shape.length / 2;
    for (std::size_t i = 0; i < shape.count; ++i) x[place(step, shape, i, masked)] = -kInf;
    const std::vector<float> y = result(step, shape, x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < shape.count; ++i) {
      for (std::size_t j = 0; j < shape.length; ++j) {
        const float got = y[place(step, shape, i, j)];
        const float want = 1.0f / static_cast<float>(shape.length - 1);
        if (shape.length == 1) {
          wrong += !std::isnan(got);  // nothing but -inf
        } else {
          wrong += j == masked ? !(got == 0 && !std::signbit(got)) : !(std::fabs(got - want) <= 2e-7f * want);
        }
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("NaN, +inf and nothing but -inf make their own vector NaN, and no other") {
  for (const float special : {kNaN, kInf, -kInf}) {
    for_shapes([special](const Step& step, Shape shape) {
      if (special == -kInf && step.is_vendor()) return;  // cuDNN: 0 or NaN, by mode
      std::vector<float> x = random_numbers(shape.count * shape.length);
      const std::size_t bad = shape.count / 2;
      for (std::size_t j = 0; j < shape.length; ++j) {
        if (special == -kInf || j == shape.length - 1) x[place(step, shape, bad, j)] = special;
      }
      const std::vector<float> y = result(step, shape, x);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < shape.count; ++i) {
        for (std::size_t j = 0; j < shape.length; ++j) {
          wrong += std::isnan(y[place(step, shape, i, j)]) != (i == bad);
        }
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("adding a constant changes nothing, where it adds without rounding") {
  for_shapes([](const Step& step, Shape shape) {
    if (step.name == "softmax_01_three_kernels" || step.is_vendor()) return;  // any order of additions
    std::vector<float> x(shape.count * shape.length), shifted(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(patterns::integers(1, 0, i, x.size()));
      shifted[i] = x[i] + 1000;
    }
    CHECK(result(step, shape, x) == result(step, shape, shifted));
  });
}

// Nothing may be launched, whatever the pointers: 2^32 + 3 converted to int is 3.
TEST_CASE("cuDNN refuses sizes that are no ints") {
  bool any = false;
  for (const Step& step : steps()) {
    if (!step.is_vendor()) continue;
    any = true;
    INFO(step.name);
    const std::size_t length = (std::size_t{1} << 32) + 3;
    CHECK_THROWS_AS(step.problem->run(Arrays({nullptr, nullptr}), size_of(step, {1, length})), std::runtime_error);
  }
  if (!any) WARN("skipped: cuDNN refuses sizes that are no ints; there is no cuDNN in this build");
}

TEST_CASE("large and small vectors in turn: no state is left behind") {
  for (const Step& step : steps()) {
    if (!is_softmax(step)) continue;
    INFO(step.name);
    for (const std::size_t length : {2, 70000, 3, 0, 5000, 2, 200001, 1}) {
      const Shape shape = {1, length};
      const std::vector<float> y = result(step, shape, std::vector<float>(length, 5.0f));
      double sum = 0;
      for (const float v : y) sum += v;
      CHECK(std::fabs(sum - (length > 0)) <= 1e-3);
    }
  }
}

namespace {

// Q, K and V of `heads` heads.
struct Heads {
  std::size_t heads, queries, keys, d;
  bool causal;
  std::vector<float> q, k, v;

  Heads(std::size_t heads_, std::size_t queries_, std::size_t keys_, std::size_t d_, bool causal_)
      : heads(heads_), queries(queries_), keys(keys_), d(d_), causal(causal_) {
    q = random_numbers(heads * queries * d);
    k = random_numbers(heads * keys * d);
    v = random_numbers(heads * keys * d);
    for (float& x : k) x /= 8;
  }
  Size size() const { return {heads, queries, keys, d, causal}; }
};

// Runs a step with elements of type T: the inputs are rounded to T, and O is returned as floats.
template <typename T>
std::vector<float> attention_of(const Step& step, const Heads& h) {
  DeviceBuffer<T> q(h.q.size()), k(h.k.size()), v(h.v.size()), o(h.q.size());
  const auto copy = [](DeviceBuffer<T>& to, const std::vector<float>& from) {
    std::vector<T> rounded(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) rounded[i] = T(from[i]);
    CUDA_CHECK(cudaMemcpy(to.get(), rounded.data(), rounded.size() * sizeof(T), cudaMemcpyHostToDevice));
  };
  copy(q, h.q), copy(k, h.k), copy(v, h.v), copy(o, std::vector<float>(h.q.size(), kNaN));
  step.problem->run(Arrays({q.get(), k.get(), v.get(), o.get()}), h.size());
  std::vector<T> result(h.q.size());
  CUDA_CHECK(cudaMemcpy(result.data(), o.get(), result.size() * sizeof(T), cudaMemcpyDeviceToHost));
  return {result.begin(), result.end()};
}

std::vector<float> attention(const Step& step, const Heads& h) {
  return is(step, "attention_bf16") ? attention_of<__nv_bfloat16>(step, h) : attention_of<float>(step, h);
}

template <typename Body>
void for_attention(const Body& body) {
  std::size_t found[2] = {};
  for (const Step& step : steps()) {
    if (!is(step, "attention") && !is(step, "attention_bf16")) continue;
    INFO(step.name);
    ++found[is(step, "attention_bf16")];
    body(step);
  }
  REQUIRE(found[0] > 0);
  REQUIRE(found[1] > 0);
}

}  // namespace

TEST_CASE("attention takes heads of 64 and 128, and refuses others") {
  for_attention([](const Step& step) {
    for (const std::size_t d : {0, 64, 128}) CHECK(step.problem->buffers({2, 3, 5, d, 0})[0].count == 6 * (d ? d : 64));
    for (const std::size_t d : {1, 32, 63, 65, 96, 127}) {
      CHECK_THROWS_AS(step.problem->buffers({2, 3, 5, d, 0}), UsageError);
    }
  });
}

TEST_CASE("attention: the weights of a query add up to 1, or to 0 where there is nothing to attend to") {
  for_attention([](const Step& step) {
    Heads h(1, 40, 35, 64, true);
    std::fill(h.v.begin(), h.v.end(), 1.0f);
    const std::vector<float> o = attention(step, h);
    // All values are 1, so the only visible errors are the roundings of weights and of O to BF16.
    const double bound = is(step, "attention_bf16") ? 2.0 / 256 : 2 * step.problem->tolerance(h.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < o.size(); ++i) {
      const bool nothing = i / h.d < h.queries - h.keys;
      wrong += nothing ? !(o[i] == 0) : !(std::fabs(o[i] - 1.0) <= bound);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("attention: equal scores give the mean of the values, exactly where it is a number of the type") {
  for_attention([](const Step& step) {
    for (const std::size_t keys : {1, 2, 64, 128}) {
      Heads h(2, 3, keys, 128, false);
      std::fill(h.q.begin(), h.q.end(), 0.0f);
      // V is +keys or -keys, so the mean is a sum of at most 128 terms of +-1: an integer below 2^8.
      for (float& x : h.v) x = x < 0 ? -static_cast<float>(keys) : static_cast<float>(keys);
      const std::vector<float> o = attention(step, h);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < o.size(); ++i) {
        float sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          sum += h.v[(i / h.d / h.queries * keys + j) * h.d + i % h.d] / static_cast<float>(keys);
        }
        wrong += !(o[i] == sum);
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("attention: what the mask hides changes no bit") {
  for_attention([](const Step& step) {
    Heads h(1, 40, 60, 64, true);
    const std::vector<float> before = attention(step, h);
    const std::size_t query = 10, hidden = query + h.keys - h.queries + 1;  // the first key that it does not attend to
    for (std::size_t i = hidden * h.d; i < h.k.size(); ++i) h.k[i] = -5 * h.k[i], h.v[i] = 1000;
    const std::vector<float> after = attention(step, h);
    const auto seen = static_cast<std::ptrdiff_t>((query + 1) * h.d);
    CHECK(std::equal(before.begin(), before.begin() + seen, after.begin()));
    CHECK_FALSE(std::equal(before.begin() + seen, before.end(), after.begin() + seen));
  });
}

// A head's keys end within a tile, where the next head's begin. A tile must not load those: 0 times NaN is NaN.
TEST_CASE("attention: a NaN in the values of one head stays in this head, and in its column") {
  for_attention([](const Step& step) {
    for (const std::size_t d : {64, 128}) {
      for (const std::size_t keys : {1, 70, 133}) {
        CAPTURE(d, keys);
        Heads h(3, 40, keys, d, false);
        const std::size_t column = 5;
        h.v[keys * d + column] = kNaN;  // the first key of head 1
        const std::vector<float> o = attention(step, h);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < o.size(); ++i) {
          wrong += std::isnan(o[i]) != (i / d / h.queries == 1 && i % d == column);
        }
        CHECK(wrong == 0);
      }
    }
  });
}

TEST_CASE("attention: a head gives the same bits alone as among others") {
  for_attention([](const Step& step) {
    // Fewer heads mean more splits, so another order of additions. any_shape may choose another kernel.
    for (const char* id : {"10_split_keys", "04_split_keys", "any_shape"}) {
      if (step.id == id) return;
    }
    const Heads all(3, 33, 50, 128, true);
    const std::vector<float> together = attention(step, all);
    for (std::size_t head = 0; head < all.heads; ++head) {
      Heads one(1, all.queries, all.keys, all.d, true);
      std::copy_n(all.q.begin() + head * one.q.size(), one.q.size(), one.q.begin());
      std::copy_n(all.k.begin() + head * one.k.size(), one.k.size(), one.k.begin());
      std::copy_n(all.v.begin() + head * one.v.size(), one.v.size(), one.v.begin());
      const std::vector<float> alone = attention(step, one);
      CHECK(std::equal(alone.begin(), alone.end(), together.begin() + head * alone.size()));
    }
  });
}

namespace {

// Returns the O of one head as floats.
std::vector<float> windowed(const Step& step, const Heads& h, float sink, std::size_t window) {
  const auto on_device = [](const std::vector<float>& from) {
    DeviceBuffer<__nv_bfloat16> to(from.size());
    const std::vector<__nv_bfloat16> rounded(from.begin(), from.end());
    CUDA_CHECK(cudaMemcpy(to.get(), rounded.data(), rounded.size() * sizeof rounded[0], cudaMemcpyHostToDevice));
    return to;
  };
  auto q = on_device(h.q), k = on_device(h.k), v = on_device(h.v), o = on_device(std::vector<float>(h.q.size(), kNaN));
  DeviceBuffer<float> sinks(1);
  CUDA_CHECK(cudaMemcpy(sinks.get(), &sink, sizeof sink, cudaMemcpyHostToDevice));
  step.problem->run(Arrays({q.get(), k.get(), v.get(), sinks.get(), o.get()}), {1, h.queries, h.keys, h.d, window});
  std::vector<__nv_bfloat16> result(h.q.size());
  CUDA_CHECK(cudaMemcpy(result.data(), o.get(), result.size() * sizeof result[0], cudaMemcpyDeviceToHost));
  return {result.begin(), result.end()};
}

template <typename Body>
void for_windows(const Body& body) {
  bool any = false;
  for (const Step& step : steps()) {
    if (!is(step, "attention_bf16_window")) continue;
    any = true;
    for (const std::size_t window : {1, 2, 63, 64, 99, 100, 1000}) {
      INFO(step.name << ", a window of " << window);
      body(step, window);
    }
  }
  REQUIRE(any);
}

}  // namespace

TEST_CASE("attention_bf16_window: a sink of 0 counts as one key whose score and value are 0; -inf is no sink") {
  for_windows([](const Step& step, std::size_t window) {
    Heads h(1, 40, 100, 64, true);
    std::fill(h.q.begin(), h.q.end(), 0.0f);
    std::fill(h.v.begin(), h.v.end(), 128.0f);
    const std::vector<float> with = windowed(step, h, 0, window), without = windowed(step, h, -kInf, window);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < h.q.size(); ++i) {
      const auto seen = static_cast<double>(std::min(window, i / h.d + 1 + h.keys - h.queries));
      wrong +=
          !(std::fabs(with[i] - 128 * seen / (seen + 1)) <= 0.26) || without[i] != 128;  // BF16: off by 0.25 at most
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("attention_bf16_window: a key before the window changes no bit, the window's first one does") {
  for_windows([](const Step& step, std::size_t window) {
    Heads h(1, 40, 100, 64, true);
    for (float& x : h.q) x /= 8;  // so that all keys contribute
    const std::size_t query = 25, own = query + h.keys - h.queries;
    const auto row = [&](const std::vector<float>& o) {
      return std::vector<float>(o.begin() + query * h.d, o.begin() + (query + 1) * h.d);
    };
    const std::vector<float> before = row(windowed(step, h, 1, window));
    const std::size_t first = own + 1 - std::min(window, own + 1);
    for (std::size_t i = 0; i < first * h.d; ++i) h.k[i] *= -5, h.v[i] = 1000;
    CHECK(row(windowed(step, h, 1, window)) == before);
    for (std::size_t i = first * h.d; i < (first + 1) * h.d; ++i) h.v[i] += 1000;
    CHECK(row(windowed(step, h, 1, window)) != before);
  });
}

// Scores are about +-10, so that their errors exceed those of the second product.
TEST_CASE("attention: three TF32 products are as accurate as FP32") {
  Heads h(1, 20, 150, 128, false);
  const auto fill = [](std::vector<float>& numbers, std::size_t buffer, double factor) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(factor * patterns::random(1, buffer, i, numbers.size()));
    }
  };
  fill(h.q, 0, 8), fill(h.k, 1, 1), fill(h.v, 2, 1);
  std::vector<double> want(h.q.size());
  for (std::size_t i = 0; i < h.queries; ++i) {
    std::vector<double> score(h.keys, 0.0);
    for (std::size_t j = 0; j < h.keys; ++j) {
      for (std::size_t c = 0; c < h.d; ++c) score[j] += static_cast<double>(h.q[i * h.d + c]) * h.k[j * h.d + c];
      score[j] /= std::sqrt(static_cast<double>(h.d));
    }
    const double max = *std::max_element(score.begin(), score.end());
    double sum = 0;
    for (std::size_t j = 0; j < h.keys; ++j) {
      const double p = std::exp(score[j] - max);
      sum += p;
      for (std::size_t c = 0; c < h.d; ++c) want[i * h.d + c] += p * h.v[j * h.d + c];
    }
    for (std::size_t c = 0; c < h.d; ++c) want[i * h.d + c] /= sum;
  }
  double fp32 = 0, three_tf32 = 0;
  for_attention([&](const Step& step) {
    if (!is(step, "attention") || step.id > "09_3xtf32") return;
    const std::vector<float> o = attention(step, h);
    double largest = 0;
    for (std::size_t i = 0; i < o.size(); ++i) largest = std::max(largest, std::fabs(o[i] - want[i]));
    if (step.name == "attention_09_3xtf32") {
      three_tf32 = largest;
    } else {
      fp32 = std::max(fp32, largest);
    }
  });
  CAPTURE(fp32, three_tf32);
  CHECK(three_tf32 > 0);
  CHECK(three_tf32 < 2 * fp32);
}

// ---- cross_entropy

namespace {

std::vector<float> losses(const Step& step, const std::vector<float>& x, const std::vector<int>& target) {
  DeviceBuffer<float> device_x(x.size()), device_loss(target.size());
  DeviceBuffer<int> device_target(target.size());
  CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_target.get(), target.data(), target.size() * sizeof(int), cudaMemcpyHostToDevice));
  step.problem->run(Arrays({device_x.get(), device_target.get(), device_loss.get()}),
                    {target.size(), x.size() / target.size()});
  std::vector<float> loss(target.size());
  CUDA_CHECK(cudaMemcpy(loss.data(), device_loss.get(), loss.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return loss;
}

template <typename Body>
void for_losses(const Body& body) {
  bool any = false;
  for (const Step& step : steps()) {
    if (!is(step, "cross_entropy")) continue;
    any = true;
    for (const std::size_t cols : {1, 2, 33, 1000, 5003}) {
      INFO(step.name << ", " << cols << " columns");
      body(step, cols);
    }
  }
  REQUIRE(any);
}

}  // namespace

TEST_CASE("cross_entropy: equal logits cost log(cols), whatever the target") {
  for_losses([](const Step& step, std::size_t cols) {
    const int last = static_cast<int>(cols) - 1;
    for (const float loss : losses(step, std::vector<float>(3 * cols, -700.0f), {0, last / 2, last})) {
      CHECK(std::fabs(loss - std::log(static_cast<double>(cols))) <= 1e-5);
    }
  });
}

TEST_CASE("cross_entropy: a target outside of the row gives NaN, and the other rows what they give without it") {
  for_losses([](const Step& step, std::size_t cols) {
    const std::vector<float> x = random_numbers(4 * cols);
    const int n = static_cast<int>(cols);
    const std::vector<float> good = losses(step, x, {0, n - 1, 0, n / 2});
    for (const int bad : {-1, -100, n, n + 1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
      const std::vector<float> loss = losses(step, x, {0, bad, 0, n / 2});
      CHECK(std::isnan(loss[1]));
      for (const std::size_t row : {0, 2, 3}) CHECK(loss[row] == good[row]);
    }
  });
}

TEST_CASE("cross_entropy: a certain target costs 0, an impossible one +inf, a NaN anywhere NaN") {
  for_losses([](const Step& step, std::size_t cols) {
    if (cols == 1) return;
    const int last = static_cast<int>(cols) - 1;
    std::vector<float> x(3 * cols, -1000.0f);
    x[last] = 1000;           // row 0: nearly certain
    x[2 * cols - 1] = -kInf;  // row 1: impossible
    x[2 * cols] = kNaN;       // row 2: NaN in a logit that is not the target's
    const std::vector<float> loss = losses(step, x, {last, last, last});
    CHECK(loss[0] == 0);
    CHECK(loss[1] == kInf);
    CHECK(std::isnan(loss[2]));
  });
}

TEST_CASE("cross_entropy_grad: a row adds up to 0; a target outside of the row makes it NaN, and no other row") {
  bool any = false;
  for (const Step& step : steps()) {
    if (!is(step, "cross_entropy_grad")) continue;
    any = true;
    for (const std::size_t cols : {1, 2, 33, 1000, 5003}) {
      const std::vector<float> x = random_numbers(3 * cols);
      const int n = static_cast<int>(cols);
      DeviceBuffer<float> device_x(x.size()), device_dx(x.size());
      DeviceBuffer<int> device_target(3);
      CUDA_CHECK(cudaMemcpy(device_x.get(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
      for (const int bad : {-1, n, n + 1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
        INFO(step.name << ", " << cols << " columns, target " << bad);
        const int target[] = {0, bad, n - 1};
        CUDA_CHECK(cudaMemcpy(device_target.get(), target, sizeof target, cudaMemcpyHostToDevice));
        step.problem->run(Arrays({device_x.get(), device_target.get(), device_dx.get()}), {{3, cols}, {0.5f}});
        std::vector<float> dx(x.size());
        CUDA_CHECK(cudaMemcpy(dx.data(), device_dx.get(), dx.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (const std::size_t row : {0, 2}) {
          double sum = 0;
          for (std::size_t j = 0; j < cols; ++j) sum += dx[row * cols + j];
          CHECK(std::fabs(sum) <= 1e-5);
          CHECK(dx[row * cols + target[row]] <= 0);
        }
        CHECK(std::all_of(&dx[cols], &dx[cols] + cols, [](float v) { return std::isnan(v); }));
      }
    }
  }
  REQUIRE(any);
}

TEST_CASE("cross_entropy 04: lanes and tiles of short rows") {
  const auto lanes = [](std::size_t cols) { return kShortRows[short_rows(cols)].lanes; };
  CHECK(lanes(0) == 1);
  CHECK(lanes(32) == 1);
  CHECK(lanes(33) == 2);
  CHECK(lanes(64) == 2);
  CHECK(lanes(65) == 4);
  CHECK(lanes(128) == 4);
  CHECK(short_rows(129) == kShortRowsCount);

  for (std::size_t cols = 0; cols <= 128; ++cols) {
    CAPTURE(cols);
    const ShortRows& s = kShortRows[short_rows(cols)];
    const unsigned tile = rows_of_tile(s, cols), groups = kTileBlock / s.lanes;
    CHECK(tile >= groups);
    CHECK(tile % groups == 0);
    CHECK(tile <= groups * kMostTimes);
    CHECK(tile * cols <= groups * s.longest);  // what a block's shared memory holds
  }
  CHECK(rows_of_tile(kShortRows[0], 2) == 512);
  CHECK(rows_of_tile(kShortRows[0], 8) == 256);
}

TEST_CASE("cross_entropy 04: threads of long rows, and parts") {
  const auto threads = [](std::size_t cols) { return 8u << long_kernel(cols); };
  CHECK(threads(129) == 8);
  CHECK(threads(512) == 8);
  CHECK(threads(513) == 16);
  CHECK(threads(8193) == 256);
  CHECK(threads(16384) == 256);
  CHECK(threads(16385) == 512);
  CHECK(threads(std::size_t{1} << 36) == 512);

  constexpr std::size_t kResident = 396;                   // 3 blocks on each of 132 SMs
  CHECK(length_of_part(4096, 50257, kResident) == 50272);  // more than 8 waves: one part, its length a multiple of 32
  CHECK(length_of_part(1, 32767, kResident) == 32768);     // too short for two parts
  CHECK(length_of_part(1, 32768, kResident) == 16384);
  CHECK(length_of_part(1, std::size_t{1} << 36, 1) == 1u << 30);
  for (const std::size_t rows : {1, 5, 100, 396, 397, 2000}) {
    for (const std::size_t cols : {16385, 100003, 53000000}) {
      CAPTURE(rows, cols);
      const std::size_t length = length_of_part(rows, cols, kResident), parts = (cols + length - 1) / length;
      CHECK(length % 32 == 0);
      CHECK((parts == 1 || length >= kShortestPart));
      CHECK(rows * parts <= 8 * kResident);
    }
  }
  CHECK((53000000 - 1) / length_of_part(5, 53000000, kResident) + 1 == 79);  // 395 blocks
}

// Three sequences: the second has no keys; the third repeats the first and shares its pages.
TEST_CASE("attention_decode: pages change no bit of the output, and may be shared; no keys give +0") {
  constexpr std::size_t kv_heads = 2, groups = 3, width = 3, page = 16, keys = width * page, d = 128;
  constexpr std::size_t token = kv_heads * d, query = groups * token;
  const std::vector<int> lengths = {41, 0, 41}, table = {3, 0, 2, -1, -1, -1, 3, 0, 2};
  std::vector<__nv_bfloat16> q(3 * query), k(3 * keys * token), v(k.size()), k_pages(4 * page * token),
      v_pages(k_pages.size());
  for (std::size_t i = 0; i < query; ++i) {
    q[i] = q[query + i] = q[2 * query + i] = __float2bfloat16(static_cast<float>(4 * patterns::random(1, 0, i, 0)));
  }
  for (std::size_t i = 0; i < 41 * token; ++i) {
    const std::size_t at = table[i / token / page] * page * token + i % (page * token);
    k[i] = k[2 * keys * token + i] = k_pages[at] = __float2bfloat16(static_cast<float>(patterns::random(1, 1, i, 0)));
    v[i] = v[2 * keys * token + i] = v_pages[at] = __float2bfloat16(static_cast<float>(patterns::random(1, 2, i, 0)));
  }
  std::vector<DeviceBuffer<unsigned char>> memory;
  const auto on_device = [&](const auto& values) -> void* {
    const std::size_t bytes = values.size() * sizeof(values[0]);
    memory.emplace_back(bytes);
    CUDA_CHECK(cudaMemcpy(memory.back().get(), values.data(), bytes, cudaMemcpyHostToDevice));
    return memory.back().get();
  };
  std::vector<float> first;  // the output of the steps that load 16 bytes
  std::size_t steps_seen = 0;
  for (const Step& step : steps()) {
    const bool paged = is(step, "attention_decode_paged");
    if (!paged && !is(step, "attention_decode")) continue;
    INFO(step.name);
    std::vector<float> out(3 * query, kNaN);
    std::vector<void*> pointers = {on_device(q), on_device(paged ? k_pages : k), on_device(paged ? v_pages : v),
                                   on_device(lengths)};
    if (paged) pointers.push_back(on_device(table));
    pointers.push_back(on_device(out));
    const Size size = paged ? Size{3, kv_heads, groups, keys, 1, page} : Size{3, kv_heads, groups, keys, 1};
    step.problem->run(Arrays(pointers), size);
    CUDA_CHECK(cudaMemcpy(out.data(), pointers.back(), out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < query; ++i) {
      wrong += !(out[i] != 0) || out[2 * query + i] != out[i];
      wrong += out[query + i] != 0 || std::signbit(out[query + i]);
    }
    CHECK(wrong == 0);
    const std::set<std::string> other_sums = {"01_warp_per_head", "02_grouped", "05_mma", "whiteboard"};
    if (other_sums.count(step.id) > 0) continue;
    ++steps_seen;
    if (first.empty()) first = out;
    CHECK(out == first);
  }
  CHECK(steps_seen >= 4);
}
