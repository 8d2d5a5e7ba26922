// What the harness must know about a problem (sum, add, ...), and how a step file registers itself as a solution of
// one.
//
// A problem header <kernel>.cuh derives one class from ladder::Problem: the sizes and buffers, the inputs to try, the
// right answer in double and the error a correct float kernel may make. Each step constructs that class with its own
// launch function: LADDER_STEP(Sum, launch). Harness and tests find the steps in ladder::steps().
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

// Half the distance from 1 to the next float: the largest relative error of one correctly rounded operation.
constexpr double kUnitRoundoff = 1.0 / (1 << 24);

// The scale of a sum whose terms are all 0: with their signs and the order of additions it is +0 or -0, and with a bound
// above 0 either will do.
constexpr double kEitherZero = std::numeric_limits<float>::denorm_min();

enum class Type { float32, int32, float16, bfloat16, int64, int8, uint8 };
// Where the buffers live. Kernels work on device memory; the other places are for steps that move the data themselves.
enum class Place { device, pageable, pinned, managed };
// inout is read and written: it starts out as the pattern says, and is checked as an output.
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

// One array of the problem, contiguous, `count` elements.
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

// A size that makes no sense, or an option. what() is one line that names the option and what it accepts.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// For Problem::buffers of a step with one block in y for each `tile` of dimension `dim`: throws UsageError if gridDim.y,
// which ends at 65535, cannot count them.
constexpr std::size_t kMaxGridY = 65535;
void require_grid_y(const char* dim, std::size_t length, std::size_t tile);

// A dimension of the problem, settable as --<name>: what a plain run uses, on a GPU and on the CPU backend, and the
// largest value accepted. One with default 0 is optional: 0 stands for its natural value (a leading dimension: the
// row's length), and it is printed only if given.
struct Dim {
  const char* name;
  std::size_t gpu_default, cpu_default, max;
};

// A factor such as alpha, settable as --<name>.
struct Scalar {
  const char* name;
  float default_value;
};

// The value of each dimension and of each scalar, in the order of Problem::dims() and Problem::scalars().
struct Size {
  Size();
  Size(std::initializer_list<std::size_t> dims_, std::initializer_list<float> scalars_ = {});
  // As the compiler would write them, but not inline: in each step's lists of sizes they took long to compile.
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

extern template class std::vector<ladder::Size>;  // like what is only declared here: in runner/definitions.hpp

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// The buffers of one run, by their order in Problem::buffers(). In `run` they are in the problem's place, which is
// device memory unless it says otherwise; outputs hold poison. In `expect` they are the host's copies of what the
// device has before the run, and outputs are null; and there is the problem's digest of the inputs.
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

// A way to fill the inputs. `value` gives element i of n of input `buffer`; it depends on nothing else.
// `exact` says that on such data a correct kernel makes no rounding error at all, so that results must be bit-equal.
struct Pattern {
  const char* name;
  bool exact;
  double (*value)(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n);
};

// Elements [begin, end) of an output buffer.
struct Range {
  std::size_t buffer, begin, end;
};

// What bounds a memory-bound kernel: a copy moves as much out as in, a read kernel only reads.
enum class Ceiling { copy, read };

// Something else that bounds a problem's steps, to be timed beside them. run() is called like a step.
struct OwnCeiling {
  virtual ~OwnCeiling() = default;
  virtual void run() const = 0;
};

// Something that a step finds out about itself, such as clocks it counted or the time that one of its parts takes
// alone.
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
  // Throws UsageError for sizes that contradict each other, such as a leading dimension shorter than the row, and for
  // sizes that this step cannot launch (see require_grid_y): there the step is skipped, by name.
  virtual std::vector<Buffer> buffers(const Size& size) const = 0;

  // Calls the step. Throws CudaError if a launch fails; may return before the device is done.
  virtual void run(const Arrays& device, const Size& size) const = 0;
  // Where this step wants the buffers.
  virtual Place place() const { return Place::device; }
  // Called before each timed run, outside its time; not before those back to back.
  virtual void prepare(const Arrays&, const Size&) const {}
  // Asked for on a GPU only, once per size after all timing. The arrays are those of a run; outputs may be overwritten.
  virtual std::vector<Figure> figures(const Arrays&, const Size&) const { return {}; }
  // What a step does otherwise than its page says on these arrays, which stand where those that are timed do; else empty.
  virtual std::string remark(const Arrays&, const Size&) const { return {}; }

  // What `expect` needs to know of the inputs as a whole, such as a vector's maximum: computed once, not by range.
  virtual std::vector<double> digest(const Arrays& /*host*/, const Size&) const { return {}; }

  // The right values of a range of an output, computed in double, and the scale of their error: a result is accepted if
  // !(|got - want| > tolerance(size) * scale) and NaN appears exactly where `want` has it. A bound of 0 means
  // bit-equal, and int32, int64 and uint8 must always be. An infinite scale: where `want` is finite, any finite number will
  // do, on exact patterns too.
  virtual void expect(const Arrays& host, const Size& size, const Range& range, double* want, double* scale) const = 0;
  virtual double tolerance(const Size& size) const = 0;
  // How many elements from the start of an output may be in any order: they are right if they are those that expect()
  // gives for these places, bit for bit, each as often.
  virtual std::size_t in_any_order(const Arrays& /*host*/, const Size&, std::size_t /*buffer*/) const { return 0; }
  // Do results on exact patterns stay exact at this size, with these scalars?
  virtual bool exact(const Size&) const { return true; }

  // What an interviewer does not ask at this size or of this data, in a sentence: there a wrong value of a candidate's
  // kernel is a remark of scripts/judge, not a failure. The steps must be right all the same. Empty: it is asked.
  virtual std::string corner(const Size&, const Pattern&) const { return {}; }

  // The first is random data, used for timing too; the second the one that shows most. Others are for small sizes.
  virtual std::vector<Pattern> patterns() const = 0;
  // Element i of n of an input, where sizes decide what makes sense, such as indices below one of them.
  virtual double element(const Size&, const Pattern& pattern, std::uint64_t seed, std::size_t buffer, std::size_t i,
                         std::size_t n) const {
    return pattern.value(seed, buffer, i, n);
  }
  virtual std::vector<Size> test_sizes() const = 0;   // small; every step must be right at each, at any alignment
  virtual std::vector<Size> huge_sizes() const = 0;   // indices beyond 32 bits; GPU only. Empty: not for this step
  virtual std::vector<Size> bench_sizes() const = 0;  // the sizes of the ladder table

  // Those of the sizes for which buffers() does not throw UsageError: for the test_sizes() of a library that refuses some.
  std::vector<Size> accepted(const std::vector<Size>& sizes) const;

  // A size from the whole domain, of at most `bytes` of traffic and as near to that as its lengths allow. Here lengths
  // are log-uniform, odd as often as not, and optional dimensions and scalars have their defaults.
  virtual Size random_size(Draw& draw, double bytes) const;
  // Does expect() give the right value of this element of an output? If not, it only says that it must be a number.
  virtual bool has_answer(const Size&, std::size_t /*element*/) const { return true; }
  // Is every right result on random data a finite number? If not, a result without an answer need only be written.
  virtual bool finite_on_random() const { return true; }

  virtual double flops(const Size&) const { return 0; }
  virtual Ceiling ceiling() const { return Ceiling::copy; }
  // For a problem that neither a copy nor a read kernel bounds: its name, and what moves bytes(size) in the best way.
  virtual const char* ceiling_name() const { return ceiling() == Ceiling::copy ? "copy" : "read"; }
  virtual std::unique_ptr<OwnCeiling> own_ceiling(const Size&) const { return nullptr; }

  // The most device memory that a step allocates beside the buffers, where that is a good part of theirs.
  virtual double scratch_bytes(const Size&) const { return 0; }

  // Useful traffic: each input read once, each output written once.
  virtual double bytes(const Size& size) const;

 protected:
  // `size` with the lengths that are 0 drawn: dimensions that are not optional.
  Size draw_lengths(Draw& draw, double bytes, Size size) const;
};

// A registered step. `name` is the file's, e.g. "sum_08_warp_shuffle"; `id` is "08_warp_shuffle"; `needs` is "sm_90" if
// the file has the line "// needs: sm_90", else empty.
struct Step {
  std::string name, id;
  std::unique_ptr<Problem> problem;
  std::string needs = {};
  bool is_vendor() const { return id.compare(0, 3, "00_") == 0; }
};

std::vector<Step>& steps();

struct Registration {
  // The step is named as its file; one that does not begin with the kernel's name, sum/whiteboard.cu, gets that in
  // front: sum_whiteboard.
  Registration(std::unique_ptr<Problem> problem, const char* file, const char* needs);
};

// CMake defines it for the files with a line "// needs: sm_<NN>[a]".
#ifndef LADDER_NEEDS
#define LADDER_NEEDS ""
#endif

// Registers this file: LADDER_STEP(Sum, launch) makes a Sum(launch). In a step that another file includes, to launch its
// kernel, it registers nothing.
#define LADDER_STEP(problem, ...) LADDER_STEP_AT(__INCLUDE_LEVEL__, problem, __VA_ARGS__)
#define LADDER_STEP_AT(level, problem, ...) LADDER_STEP_AT_(level, problem, __VA_ARGS__)
#define LADDER_STEP_AT_(level, problem, ...) LADDER_STEP_##level(problem, __VA_ARGS__)
#define LADDER_STEP_0(problem, ...)                                                                                   \
  static const ladder::Registration ladder_step(std::unique_ptr<ladder::Problem>(new problem(__VA_ARGS__)), __FILE__, \
                                                LADDER_NEEDS)
#define LADDER_STEP_1(problem, ...) static_assert(true)
#define LADDER_STEP_2(problem, ...) static_assert(true)
#define LADDER_STEP_3(problem, ...) static_assert(true)

// Of a program for any shape, which has several kernels to choose from (any_shape.cuh): what a check asks it to do, and
// what it did.
struct CandidateRun {
  std::optional<std::size_t> wanted;  // run this candidate; it throws NotAccepted if the candidate cannot
  std::size_t candidates = 0;         // of the program that ran last; 0: it had no choice
  const char* taken = nullptr;        // the candidate that ran last
  bool again = false;                 // measure anew at a known shape
};
CandidateRun& candidate_run();
struct NotAccepted {};

// Is this the candidate that the variable LADDER_CHOICE names, or does it name none?
bool is_chosen(const char* candidate);
// Do times mean something here, and may a launch be repeated to measure it? Not on the CPU backend, in a debugger, under
// a profiler or compute-sanitizer, and while a stream is captured.
bool may_time();

// Lengths at which one-dimensional kernels go wrong: empty, below and around a warp and a block, every remainder of 4,
// primes, and one that needs many blocks.
std::vector<Size> awkward_lengths();

// A number from 0 to 2^64-1 that depends on seed, buffer and index alone (splitmix64's finisher).
inline std::uint64_t hash(std::uint64_t seed, std::size_t buffer, std::size_t i) {
  std::uint64_t z = (seed * 31 + buffer) * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1342543de82ef95u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Random choices, the same for the same seed on every machine.
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
  // A length of `most` or a little less: odd as often as not, else a multiple of 2, 4, ... or 64.
  std::size_t near(std::size_t most) {
    if (coin() || most < 2) return most - (most % 2 == 0 && most > 0);
    std::size_t power = std::size_t{2} << below(6);
    while (power > most) power /= 2;
    return most / power * power;
  }
  // A leading dimension for rows of `length`: 0, its default, as often as not; else there is a gap behind each row, of
  // up to an eighth of it, but at least 4 and at most 64 elements, and the leading dimension is odd or a multiple of 4.
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

// The most arithmetic of a random size: 20 ms at 50 TFLOP/s.
constexpr double kMostRandomFlops = 1e12;

namespace patterns {

// Uniform in [-1, 1), each a float.
inline double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
  return static_cast<double>(hash(seed, buffer, i) >> 40) / (1 << 23) - 1;
}

// -4 to 4 without 0, so that every element counts. Sums of up to 2^32 of them stay below 2^24 in any order that does
// not depend on the values (a random walk with steps of 2.7), hence are exact in float.
inline double integers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
  const std::uint64_t h = hash(seed, buffer, i);
  return (h & 4 ? -1.0 : 1.0) * static_cast<double>(1 + (h & 3));
}

// Zeros, then 8, 4, 2, 1: a kernel that drops the tail gets a result that says which elements are missing.
inline double tail(std::uint64_t, std::size_t, std::size_t i, std::size_t n) {
  return n - i <= 4 ? static_cast<double>(1 << (n - i - 1)) : 0.0;
}

// Rounding errors of a running sum of these go the same way for long, instead of cancelling: a sum in a row that claims
// the error bound of a tree shows from n = 127 on.
inline double tenths(std::uint64_t, std::size_t, std::size_t, std::size_t) { return 0.1; }

// Every pair of awkward floats across two inputs: signed zeros, subnormals, the extremes, infinities, NaN.
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
