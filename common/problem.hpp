// The interface between a problem (sum, add, ...), its steps, and the program that checks and times them.
//
// A problem header <kernel>.cuh derives a class from ladder::Problem: sizes, buffers, test inputs, the expected results
// in double, and the error that a correct float kernel may make. Each step file registers an object of this class with
// its own launch function: LADDER_STEP(Sum, launch). The program and the tests find it in ladder::steps().
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct __half;         // cuda_fp16.h defines it, for those who use it
struct __nv_bfloat16;  // and cuda_bf16.h this

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// Half the distance from 1 to the next float: the largest relative error of a correctly rounded operation.
constexpr double kUnitRoundoff = 1.0 / (1 << 24);

// The error scale of a sum whose terms are all 0. The result is +0 or -0, depending on signs and order; any bound above
// 0 accepts both.
constexpr double kEitherZero = std::numeric_limits<float>::denorm_min();

enum class Type { float32, int32, float16, bfloat16, int64, int8, uint8 };
// Where the buffers are allocated. Places other than device memory are for steps that move the data themselves.
enum class Place { device, pageable, pinned, managed };
// An inout buffer is filled by the pattern, as an input, and checked as an output.
enum class Role { input, output, inout };

template <typename T>
constexpr Type type_of();
template <>
constexpr Type type_of<float>() {
  return Type::float32;
}
template <>
constexpr Type type_of<int>() {
  return Type::int32;
}
template <>
constexpr Type type_of<__half>() {
  return Type::float16;
}
template <>
constexpr Type type_of<__nv_bfloat16>() {
  return Type::bfloat16;
}
template <>
constexpr Type type_of<std::int64_t>() {
  return Type::int64;
}
template <>
constexpr Type type_of<std::int8_t>() {
  return Type::int8;
}
template <>
constexpr Type type_of<std::uint8_t>() {
  return Type::uint8;
}

constexpr std::size_t bytes_of(Type type) {
  const bool is_half = type == Type::float16 || type == Type::bfloat16;
  const bool is_byte = type == Type::int8 || type == Type::uint8;
  return is_byte ? 1 : is_half ? 2 : type == Type::int64 ? 8 : 4;
}

// A contiguous array of `count` elements.
struct Buffer {
  const char* name;
  Type type;
  Role role;
  std::size_t count;
  std::size_t bytes() const { return count * bytes_of(type); }
};

template <typename T>
Buffer input(const char* name, std::size_t count) {
  return {name, type_of<T>(), Role::input, count};
}
template <typename T>
Buffer output(const char* name, std::size_t count) {
  return {name, type_of<T>(), Role::output, count};
}

template <typename T>
Buffer inout(const char* name, std::size_t count) {
  return {name, type_of<T>(), Role::inout, count};
}

// An invalid size or option. what() is one line that names the option and what it accepts.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws UsageError if a step needs more than 65535 blocks along y: one for each `tile` of dimension `dim`. To be
// called in
// Problem::buffers().
constexpr std::size_t kMaxGridY = 65535;
void require_grid_y(const char* dim, std::size_t length, std::size_t tile);

// A dimension of the problem, set by --<name>: its default on a GPU and on the CPU backend, and the largest value
// accepted. A dimension with default 0 is optional: 0 stands for its natural value (for a leading dimension the row's
// length), and it is printed only if given.
struct Dim {
  const char* name;
  std::size_t gpu_default, cpu_default, max;
};

// A factor such as alpha, set by --<name>.
struct Scalar {
  const char* name;
  float default_value;
};

// Values of all dimensions and scalars, in the order of Problem::dims() and Problem::scalars().
struct Size {
  Size();
  Size(std::initializer_list<std::size_t> dims_, std::initializer_list<float> scalars_ = {});
  // Defaulted, but not inline: that saves compile time in every step.
  Size(const Size&);
  Size(Size&&) noexcept;
  Size& operator=(const Size&);
  Size& operator=(Size&&) noexcept;
  ~Size();
  std::size_t operator[](std::size_t dim) const { return dims[dim]; }
  bool operator==(const Size& other) const { return dims == other.dims && scalars == other.scalars; }

  std::vector<std::size_t> dims;
  std::vector<float> scalars;
};

#pragma GCC visibility pop
}  // namespace ladder

extern template class std::vector<ladder::Size>;  // defined in runner/definitions.hpp, as what follows

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// The buffers of one run, in the order of Problem::buffers(). In `run` they are in Problem::place(), and outputs hold
// poison values. In `expect` they are host copies of the inputs, outputs are null, and digest() is available.
class Arrays {
 public:
  explicit Arrays(std::vector<void*> pointers, std::vector<double> digest = {})
      : pointers_(std::move(pointers)), digest_(std::move(digest)) {}
  template <typename T>
  T* at(std::size_t buffer) const {
    return static_cast<T*>(pointers_.at(buffer));
  }
  const std::vector<double>& digest() const { return digest_; }

 private:
  std::vector<void*> pointers_;
  std::vector<double> digest_;
};

// A way to fill the inputs. `value` returns element i of n of input `buffer`, and depends on its arguments only.
// `exact`: a correct kernel makes no rounding errors on such data, so results must be bit-equal.
struct Pattern {
  const char* name;
  bool exact;
  double (*value)(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n);
};

// Elements [begin, end) of an output buffer.
struct Range {
  std::size_t buffer, begin, end;
};

// The rate that a memory-bound kernel is compared with: that of a copy (as many bytes written as read), or of a read.
enum class Ceiling { copy, read };

// Another ceiling, timed beside the steps. run() is called like a step.
struct OwnCeiling {
  virtual ~OwnCeiling() = default;
  virtual void run() const = 0;
};

// A number that a step measures itself, such as clocks, or the time of one of its parts.
struct Figure {
  const char* name;
  double value;
};

class Draw;  // below

class Problem {
 public:
  virtual ~Problem() = default;

  virtual const char* family() const = 0;
  virtual const char* kernel() const = 0;
  virtual std::vector<Dim> dims() const = 0;
  virtual std::vector<Scalar> scalars() const { return {}; }
  // Throws UsageError for contradictory sizes, such as a leading dimension shorter than the row, and for sizes that
  // this step cannot launch (see require_grid_y). At these the step is skipped, and named.
  virtual std::vector<Buffer> buffers(const Size& size) const = 0;

  // Calls the step. Throws CudaError if a launch fails. May return before the device is done.
  virtual void run(const Arrays& device, const Size& size) const = 0;
  // Where the buffers of this step are allocated.
  virtual Place place() const { return Place::device; }
  // Called before each run that is timed alone, outside its time.
  virtual void prepare(const Arrays&, const Size&) const {}
  // Called on a GPU only, once per size, after all timing. May overwrite the outputs.
  virtual std::vector<Figure> figures(const Arrays&, const Size&) const { return {}; }
  // Says what a step does differently from its description on these arrays, such as copying unaligned rows; else empty.
  virtual std::string remark(const Arrays&, const Size&) const { return {}; }

  // What `expect` needs of the inputs as a whole, such as a vector's maximum. Computed once per run.
  virtual std::vector<double> digest(const Arrays& /*host*/, const Size&) const { return {}; }

  // Computes the expected values of a range of an output, in double, and the scale of their error. A result is accepted
  // if !(|got - want| > tolerance(size) * scale), and NaN appears exactly where `want` is NaN. With a bound of 0, and
  // for int32, int64 and uint8, results must be bit-equal. With an infinite scale any finite number is accepted where
  // `want` is finite, on exact patterns too.
  virtual void expect(const Arrays& host, const Size& size, const Range& range, double* want, double* scale) const = 0;
  virtual double tolerance(const Size& size) const = 0;
  // How many elements at the start of an output may be in any order. They must be a permutation of those that expect()
  // returns for this range, bit for bit.
  virtual std::size_t in_any_order(const Arrays& /*host*/, const Size&, std::size_t /*buffer*/) const { return 0; }
  // Returns true if results on exact patterns are exact at this size, with these scalars.
  virtual bool exact(const Size&) const { return true; }

  // A sentence if an interviewer would not ask for this size or data, else empty. Where it is not empty, scripts/judge
  // reports a candidate's wrong value as a remark, not as a failure. Our steps must be right there, too.
  virtual std::string corner(const Size&, const Pattern&) const { return {}; }

  // The first is random data, also used for timing; the second reveals most errors. Others are used at small sizes.
  virtual std::vector<Pattern> patterns() const = 0;
  // Element i of n of an input. Overridden where valid values depend on sizes, as those of indices do.
  virtual double element(const Size&, const Pattern& pattern, std::uint64_t seed, std::size_t buffer, std::size_t i,
                         std::size_t n) const {
    return pattern.value(seed, buffer, i, n);
  }
  virtual std::vector<Size> test_sizes() const = 0;   // small; every step must be right at each, at every alignment
  virtual std::vector<Size> huge_sizes() const = 0;   // indices beyond 32 bits, GPU only; may be empty
  virtual std::vector<Size> bench_sizes() const = 0;  // the sizes of the ladder table

  // Returns the sizes for which buffers() does not throw UsageError. For test_sizes() of a library that refuses some.
  std::vector<Size> accepted(const std::vector<Size>& sizes) const;

  // Draws a size from the whole domain with at most `bytes` of traffic, and close to that. By default lengths are
  // log-uniform, half of them odd, and optional dimensions and scalars have their defaults.
  virtual Size random_size(Draw& draw, double bytes) const;
  // Returns true if expect() knows the right value of this element. If not, any number is accepted.
  virtual bool has_answer(const Size&, std::size_t /*element*/) const { return true; }
  // Returns true if all right results on random data are finite. If not, a result without an answer must only be
  // written.
  virtual bool finite_on_random() const { return true; }

  virtual double flops(const Size&) const { return 0; }
  virtual Ceiling ceiling() const { return Ceiling::copy; }
  // For a problem with a ceiling of its own: the name, and the kernel that moves bytes(size) as fast as possible.
  virtual const char* ceiling_name() const { return ceiling() == Ceiling::copy ? "copy" : "read"; }
  virtual std::unique_ptr<OwnCeiling> own_ceiling(const Size&) const { return nullptr; }

  // The most device memory that a step allocates in addition to the buffers, if it is a considerable part of theirs.
  virtual double scratch_bytes(const Size&) const { return 0; }

  // Useful traffic in bytes: each input read once, each output written once.
  virtual double bytes(const Size& size) const;

 protected:
  // Draws those required dimensions of `size` that are 0.
  Size draw_lengths(Draw& draw, double bytes, Size size) const;
};

// A registered step. `name` is the file's, such as "sum_08_warp_shuffle"; `id` is "08_warp_shuffle". `needs` is "sm_90"
// if the file has a line "// needs: sm_90", else empty.
struct Step {
  std::string name, id;
  std::unique_ptr<Problem> problem;
  std::string needs = {};
  bool is_vendor() const { return id.compare(0, 3, "00_") == 0; }
};

std::vector<Step>& steps();

struct Registration {
  // The step gets the name of its file, preceded by the kernel's if it lacks that: sum/whiteboard.cu is sum_whiteboard.
  Registration(std::unique_ptr<Problem> problem, const char* file, const char* needs);
};

// CMake defines it for files with a line "// needs: sm_<NN>[a]".
#ifndef LADDER_NEEDS
#define LADDER_NEEDS ""
#endif

// Registers this file's step: LADDER_STEP(Sum, launch) constructs Sum(launch). In a step file that another file
// includes it registers nothing.
#define LADDER_STEP(problem, ...) LADDER_STEP_AT(__INCLUDE_LEVEL__, problem, __VA_ARGS__)
#define LADDER_STEP_AT(level, problem, ...) LADDER_STEP_AT_(level, problem, __VA_ARGS__)
#define LADDER_STEP_AT_(level, problem, ...) LADDER_STEP_##level(problem, __VA_ARGS__)
#define LADDER_STEP_0(problem, ...)                                                                                   \
  static const ladder::Registration ladder_step(std::unique_ptr<ladder::Problem>(new problem(__VA_ARGS__)), __FILE__, \
                                                LADDER_NEEDS)
#define LADDER_STEP_1(problem, ...) static_assert(true)
#define LADDER_STEP_2(problem, ...) static_assert(true)
#define LADDER_STEP_3(problem, ...) static_assert(true)

// What a check asks a program with several candidates (any_shape.cuh) to run, and what it ran.
struct CandidateRun {
  std::optional<std::size_t> wanted;  // run this candidate, or throw NotAccepted if it does not accept the call
  std::size_t candidates = 0;         // of the program that ran last; 0: it has none
  const char* taken = nullptr;        // the candidate that ran last
  bool again = false;                 // time again at a known shape
};
CandidateRun& candidate_run();
struct NotAccepted {};

// Returns true if the environment variable LADDER_CHOICE names this candidate or is not set.
bool is_chosen(const char* candidate);
// Returns true if launches can be timed and repeated. They can't on the CPU backend, in a debugger, under a profiler or
// compute-sanitizer, and while a stream is captured.
bool may_time();

// Lengths at which one-dimensional kernels fail: 0, near a warp's and a block's size, every remainder modulo 4, primes,
// and one that needs many blocks.
std::vector<Size> awkward_lengths();

// A hash of seed, buffer and index (the finisher of splitmix64), from 0 to 2^64 - 1.
inline std::uint64_t hash(std::uint64_t seed, std::size_t buffer, std::size_t i) {
  std::uint64_t z = (seed * 31 + buffer) * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1342543de82ef95u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Pseudo-random choices, the same for a seed on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(hash(seed_, 0, drawn_++) >> 11) / (std::uint64_t{1} << 53); }
  bool coin() { return uniform() < 0.5; }
  // Uniform in [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }
  // Log-uniform in [least, most].
  double log_uniform(double least, double most) { return least * std::exp(uniform() * std::log(most / least)); }

  // A length from 1 to `most`, log-uniform.
  std::size_t length(std::size_t most) {
    return near(std::min(most, static_cast<std::size_t>(log_uniform(1, static_cast<double>(most) + 1))));
  }
  // A length of `most` or slightly less: odd in half of the cases, else a multiple of 2, 4, ... or 64.
  std::size_t near(std::size_t most) {
    if (coin() || most < 2) return most - (most % 2 == 0 && most > 0);
    std::size_t power = std::size_t{2} << below(6);
    while (power > most) power /= 2;
    return most / power * power;
  }
  // A leading dimension for rows of `length`. In half of the cases it is 0, the default. Else each row is followed by a
  // gap of up to max(4, min(64, length / 8)) elements, and the leading dimension is odd or a multiple of 4.
  std::size_t leading(std::size_t length) {
    if (coin()) return 0;
    const std::size_t most = std::min<std::size_t>(std::max<std::size_t>(4, length / 8), 64);
    const std::size_t ld = length + 1 + below(most - 3);
    return coin() ? ld | 1 : (ld + 3) / 4 * 4;
  }

 private:
  std::uint64_t seed_;
  std::size_t drawn_ = 0;
};

// The most FLOP of a random size: 20 ms at 50 TFLOP/s.
constexpr double kMostRandomFlops = 1e12;

namespace patterns {

// Floats, uniform in [-1, 1).
inline double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
  return static_cast<double>(hash(seed, buffer, i) >> 40) / (1 << 23) - 1;
}

// Integers from -4 to 4 without 0, so that every element counts. A sum of up to 2^32 of them stays below 2^24 in any
// order that does not depend on the values (a random walk with steps of 2.7), so it is exact in float.
inline double integers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
  const std::uint64_t h = hash(seed, buffer, i);
  return (h & 4 ? -1.0 : 1.0) * static_cast<double>(1 + (h & 3));
}

// Zeros, then 8, 4, 2, 1: if a kernel drops elements of the tail, the wrong sum tells which.
inline double tail(std::uint64_t, std::size_t, std::size_t i, std::size_t n) {
  return n - i <= 4 ? static_cast<double>(1 << (n - i - 1)) : 0.0;
}

// Rounding errors of a running sum of these have the same sign for long, instead of cancelling. So a sequential sum
// exceeds the error bound of a tree from n = 127 on.
inline double tenths(std::uint64_t, std::size_t, std::size_t, std::size_t) { return 0.1; }

// Every pair of special floats across two inputs: signed zeros, subnormals, the extremes, infinities, NaN.
inline double special(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t) {
  using limits = std::numeric_limits<float>;
  constexpr float values[] = {0.0f,
                              -0.0f,
                              limits::denorm_min(),
                              -limits::denorm_min(),
                              limits::min(),
                              -limits::min(),
                              limits::max(),
                              -limits::max(),
                              limits::infinity(),
                              -limits::infinity(),
                              limits::quiet_NaN(),
                              1.0f,
                              -100.0f,
                              100.0f,
                              88.8f,
                              -88.8f,
                              -104.0f};
  constexpr std::size_t count = sizeof values / sizeof *values;
  return values[(buffer == 0 ? i : i / count) % count];
}

}  // namespace patterns
#pragma GCC visibility pop
}  // namespace ladder
