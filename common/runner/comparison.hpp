// Compares a step's outputs with a case's answers.
#pragma once
#include "case.hpp"
#include "failure.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

namespace ladder {

// Compares output buffer `b` piece by piece: compare() takes elements [begin, begin + count). `tolerance` is the
// problem's, or 0 for bit-equal results. The first `in_any_order` elements may be in any order.
class Comparison {
 public:
  Comparison(const Case& c, std::size_t b, double tolerance, std::size_t in_any_order = 0)
      : case_(c), buffer_(b), tolerance_(tolerance), in_any_order_(in_any_order) {
    if (in_any_order > kKept) return;
    found_.resize(in_any_order);
    wanted_.resize(in_any_order);
  }

  void compare(const void* got, std::size_t begin, std::size_t count) {
    const std::size_t split = std::min(count, in_any_order_ - std::min(in_any_order_, begin));
    compare_in_any_order(got, begin, split);
    const std::size_t bytes = split * bytes_of(case_.buffers()[buffer_].type);
    compare_in_order(static_cast<const unsigned char*>(got) + bytes, begin + split, count - split);
  }

  Verdict verdict() {
    if (hashes_ != 0 && !pair_up()) {
      return {worst_, failure_in(case_.buffers(), buffer_, Failure::What::values), {}};
    }
    std::optional<Failure> excused;
    if (no_nan_.index < kNone) {
      excused = failure_in(case_.buffers(), buffer_, Failure::What::value, no_nan_.index);
      excused->got = no_nan_.got;
      excused->want = std::numeric_limits<double>::quiet_NaN();
    }
    if (wrong_ == 0) return {worst_, {}, excused};
    const Wrong& first = shown_.front();
    const Failure::What what = first.unwritten ? Failure::What::unwritten : Failure::What::value;
    Failure failure = failure_in(case_.buffers(), buffer_, what, first.index);
    failure.got = first.got;
    failure.want = first.want;
    failure.bound = first.bound;
    failure.in_any_order = first.index < in_any_order_;
    failure.wrong = wrong_;
    for (std::size_t i = 1; i < shown_.size(); ++i) failure.others.push_back(shown_[i].index);
    return {worst_, failure, excused};
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Wrong {
    std::size_t index = 0;
    double got = 0, want = 0, bound = 0;
    bool unwritten = false;
  };
  struct Piece {
    std::size_t wrong = 0;
    std::vector<Wrong> shown;
    double worst = 0;
    Wrong no_nan{kNone};
  };
  struct Value {
    Element element{};
    std::size_t index = 0;
  };
  static constexpr std::size_t kShown = 4;
  static constexpr std::size_t kKept = 1 << 22;  // most elements in any order that are kept, to report which are wrong

  void compare_in_order(const void* got, std::size_t begin, std::size_t count) {
    parallel_for(count, kCheckGrain, [&](std::size_t from, std::size_t to) {
      std::vector<double> want, scale;
      Piece piece;
      std::size_t done = begin + from;  // index of the next element of the buffer
      for (const Range& part : case_.answered({buffer_, begin + from, begin + to})) {
        want.resize(part.end - part.begin);
        scale.resize(part.end - part.begin);
        case_.expect(part, want.data(), scale.data());
        for (; done < part.begin; ++done) require_number(got, done - begin, done, piece);
        for (; done < part.end; ++done) {
          const double s = scale[done - part.begin];
          const double bound = std::isinf(s) ? s : tolerance_ * s;
          compare_element(got, done - begin, done, want[done - part.begin], bound, piece);
        }
      }
      for (; done < begin + to; ++done) require_number(got, done - begin, done, piece);
      merge(piece);
    });
  }

  // Compares sums of hashes. They are equal for different multisets with probability 2^-64.
  void compare_in_any_order(const void* got, std::size_t begin, std::size_t count) {
    const Type type = case_.buffers()[buffer_].type;
    parallel_for(count, kCheckGrain, [&](std::size_t from, std::size_t to) {
      std::vector<double> want(to - from), scale(to - from);
      case_.compute({buffer_, begin + from, begin + to}, want.data(), scale.data());
      std::uint64_t hashes = 0;
      for (std::size_t i = from; i < to; ++i) {
        unsigned char bytes[8];
        store_element(type, bytes, 0, want[i - from]);
        const Element found = load_element(type, got, i), wanted = load_element(type, bytes, 0);
        hashes += hash(0, 0, found.bits) - hash(0, 0, wanted.bits);
        if (found_.empty()) continue;
        found_[begin + i] = {found, begin + i};
        wanted_[begin + i] = {wanted, begin + i};
      }
      hashes_ += hashes;
    });
  }

  // Pairs each surplus value with a missing one, to report them. Returns false if the values were not kept.
  bool pair_up() {
    const auto less = [](const Value& x, const Value& y) { return x.element.bits < y.element.bits; };
    std::stable_sort(found_.begin(), found_.end(), less);
    std::stable_sort(wanted_.begin(), wanted_.end(), less);
    std::vector<Value> extra, missing;
    std::set_difference(found_.begin(), found_.end(), wanted_.begin(), wanted_.end(), std::back_inserter(extra), less);
    std::set_difference(wanted_.begin(), wanted_.end(), found_.begin(), found_.end(), std::back_inserter(missing),
                        less);
    Piece piece;
    for (std::size_t i = 0; i < extra.size(); ++i) {
      const bool unwritten = is_poison(case_.buffers()[buffer_].type, extra[i].element);
      piece.shown.push_back({extra[i].index, extra[i].element.value, missing[i].element.value, 0, unwritten});
    }
    piece.wrong = extra.size();
    merge(piece);
    return !found_.empty();
  }

  void compare_element(const void* got, std::size_t i, std::size_t index, double want, double bound,
                       Piece& piece) const {
    const Type type = case_.buffers()[buffer_].type;
    const Element element = load_element(type, got, i);
    if (case_.lenient && std::isnan(want) && !std::isnan(element.value)) {
      if (index < piece.no_nan.index) piece.no_nan = {index, element.value};
      return;
    }
    const bool ok = is_whole(type) ? element.value == want : acceptable(element.value, want, bound, piece.worst);
    const bool unwritten = is_poison(type, element) && !(ok && is_whole(type));
    if (ok && !unwritten) return;
    if (piece.wrong++ < kShown) piece.shown.push_back({index, element.value, want, bound, unwritten});
  }

  static bool is_whole(Type type) { return type == Type::int32 || type == Type::int64 || type == Type::uint8; }

  // Checks an element without an answer. It must have been written, and be finite unless the problem's results may be
  // NaN or infinite on random data. An integer with the poison's bits may be right, so its answer is computed.
  void require_number(const void* got, std::size_t i, std::size_t index, Piece& piece) const {
    const Type type = case_.buffers()[buffer_].type;
    const Element element = load_element(type, got, i);
    const bool right =
        is_whole(type) && is_poison(type, element) && piece.wrong == 0 && is_answer(index, element.value);
    const bool unwritten = is_poison(type, element) && !right;
    if (!unwritten && (std::isfinite(element.value) || !case_.problem().finite_on_random())) return;
    constexpr double any = 0, no_bound = std::numeric_limits<double>::infinity();
    if (piece.wrong++ < kShown) piece.shown.push_back({index, element.value, any, no_bound, unwritten});
  }

  bool is_answer(std::size_t index, double value) const {
    double want = 0, scale = 0;
    case_.compute({buffer_, index, index + 1}, &want, &scale);
    return scale == 0 && want == value;
  }

  bool acceptable(double got, double want, double bound, double& worst) const {
    if (std::isnan(want)) return std::isnan(got);
    if (case_.lenient && got == want) return true;  // +0 equals -0
    if (bound == 0 || std::isinf(want)) return got == want && std::signbit(got) == std::signbit(want);
    if (std::isinf(bound)) return std::isfinite(got);
    const double error = std::fabs(got - want);
    if (error / bound > worst) worst = error / bound;
    return error <= bound;  // false if `got` is NaN
  }

  void merge(const Piece& piece) {
    std::lock_guard<std::mutex> lock(mutex_);
    wrong_ += piece.wrong;
    shown_.insert(shown_.end(), piece.shown.begin(), piece.shown.end());
    std::sort(shown_.begin(), shown_.end(), [](const Wrong& a, const Wrong& b) { return a.index < b.index; });
    if (shown_.size() > kShown) shown_.resize(kShown);
    worst_ = std::max(worst_, piece.worst);
    if (piece.no_nan.index < no_nan_.index) no_nan_ = piece.no_nan;
  }

  const Case& case_;
  std::size_t buffer_;
  double tolerance_;
  std::size_t in_any_order_;
  std::atomic<std::uint64_t> hashes_{0};  // hashes of the values found in any order, minus those of the values wanted
  std::vector<Value> found_, wanted_;     // in any order, if not too many
  std::mutex mutex_;
  std::size_t wrong_ = 0;
  std::vector<Wrong> shown_;  // the first few, by index
  double worst_ = 0;
  Wrong no_nan_{kNone};  // in a lenient case: the first number where NaN is expected
};

}  // namespace ladder
