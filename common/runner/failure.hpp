// The facts of a failed check. text() makes a sentence of them, to_json() an object for scripts.
#pragma once
#include "json.hpp"
#include "problem.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ladder {

struct Failure {
  enum class What {
    value,          // an element of an output is wrong
    unwritten,      // an element of an output still holds poison
    values,         // values of an output in any order are wrong; only a sum of hashes was kept
    past_end,       // a write after the end of a buffer, at `index`
    before_start,   // a write `index` bytes before the start of a buffer
    input_changed,  // an element of an input has changed
    input_written,  // an element of an input was written, with the value it had
    error           // a CUDA call failed
  };
  What what = What::error;
  std::string buffer;                // name of the buffer
  std::size_t number = 0;            // its index in Problem::buffers()
  std::size_t index = 0, count = 0;  // first wrong element, and number of elements in the buffer
  double got = 0, want = 0;
  double bound = 0;  // of the error. 0: results must be bit-equal; infinity: any finite number is accepted
  bool in_any_order = false;
  std::size_t wrong = 0;            // number of wrong elements
  std::vector<std::size_t> others;  // indices of the next few
  std::string message;              // of the CUDA error; or the thread that wrote to the input
  std::string error;                // "cudaErrorInvalidConfiguration"

  // How the step was run.
  long random_shape = -1;            // number of the random shape
  std::string size;                  // "n=3 k=4"
  std::vector<std::string> options;  // "--n=3", "--k=4"
  std::string data;                  // the pattern's name
  std::string offsets;               // "x + 1, y + 0"; empty: all buffers are aligned
  std::string order;                 // order of threads, on the CPU backend
  bool second_run = false;           // on the same buffers
  std::string candidate;             // name, if the program is one for any shape
  std::string writer;                // "sum.cu:12, thread ...", or "no thread"; empty: unknown

  void run_as(const Failure& other) {
    size = other.size;
    options = other.options;
    data = other.data;
    offsets = other.offsets;
    order = other.order;
    second_run = other.second_run;
  }
};

inline Failure failure_in(const std::vector<Buffer>& buffers, std::size_t number, Failure::What what,
                          std::size_t index = 0) {
  Failure failure;
  failure.what = what;
  failure.buffer = buffers[number].name;
  failure.number = number;
  failure.index = index;
  failure.count = buffers[number].count;
  return failure;
}

// In the order of Failure::What.
constexpr const char* kFailureNames[] = {"value",        "unwritten",     "values",        "past end",
                                         "before start", "input changed", "input written", "error"};
inline const char* name(Failure::What what) { return kFailureNames[static_cast<std::size_t>(what)]; }

// "y[3] of 100 is wrong: got 1, want 2, error 1 above bound 0.1; 7 are wrong in all, the next at [4] [5]"
inline std::string text_of_values(const Failure& f) {
  const auto at = [](std::size_t index) { return "[" + std::to_string(index) + "]"; };
  std::string text = f.buffer + at(f.index) + " of " + std::to_string(f.count);
  const std::string want = std::isinf(f.bound) ? "a finite number" : format("%.9g", f.want);
  if (f.what == Failure::What::unwritten) {
    text += " was never written (want " + want + ")";
  } else {
    text += " is wrong: got " + format("%.9g", f.got) + ", want " + want;
    if (f.bound == 0) text += ", must be equal";
    if (f.bound > 0 && std::isfinite(f.bound) && std::isfinite(f.got)) {
      text += ", error " + format("%.3g", std::fabs(f.got - f.want)) + " above bound " + format("%.3g", f.bound);
    }
  }
  if (f.in_any_order) text += ", in any order";
  if (f.wrong > 1) text += "; " + std::to_string(f.wrong) + " are wrong in all, the next at";
  for (const std::size_t other : f.others) text += " " + at(other);
  return text;
}

inline std::string text_of_what(const Failure& f) {
  switch (f.what) {
    case Failure::What::value:
    case Failure::What::unwritten:
      return text_of_values(f);
    case Failure::What::values:
      return f.buffer + " has other values than it must, in any order";
    case Failure::What::past_end:
      return f.buffer + " was written past its end, at index " + std::to_string(f.index) + " of " +
             std::to_string(f.count);
    case Failure::What::before_start:
      return f.buffer + " was written before its start, " + std::to_string(f.index) + " bytes";
    case Failure::What::input_changed:
      return "the input " + f.buffer + " was changed, first at index " + std::to_string(f.index);
    case Failure::What::input_written:
      return "the input " + f.buffer + " was written, first at index " + std::to_string(f.index) +
             ", though all its values are the same again" + (f.message.empty() ? "" : "; " + f.message);
    case Failure::What::error:
      return f.message;
  }
  return "";
}

// Returns one line: how the step was run, as far as known, and what is wrong.
inline std::string text(const Failure& f) {
  std::string how;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) how += (how.empty() ? "" : ", ") + part;
  };
  if (f.random_shape >= 0) add("random shape " + std::to_string(f.random_shape));
  add(f.size);
  add(f.data.empty() ? "" : f.data + " data");
  add(f.offsets);
  add(f.order.empty() || f.order == "forward" ? "" : "threads in " + f.order + " order");
  add(f.candidate.empty() ? "" : "candidate " + f.candidate);
  add(f.second_run ? "the second run on these buffers" : "");
  std::string writer;
  if (!f.writer.empty()) writer = f.writer == "no thread" ? "; no thread wrote it" : "; written last at " + f.writer;
  return (how.empty() ? "" : how + ": ") + text_of_what(f) + writer;
}

inline std::string to_json(const Failure& f) {
  using What = Failure::What;
  json::Object o;
  o.add_text("what", name(f.what)).add_text("text", text(f)).add_text("seen", text_of_what(f));
  if (!f.size.empty()) {
    o.add_text("size", f.size).add_raw("options", json::list(f.options, json::text));
  }
  if (!f.data.empty()) o.add_text("data", f.data);
  o.add_text("offsets", f.offsets).add_text("order", f.order).add("second_run", f.second_run);
  if (!f.candidate.empty()) o.add_text("candidate", f.candidate);
  if (f.what == What::error) {
    o.add_text("error", f.error).add_text("message", f.message);
  } else {
    o.add_text("buffer", f.buffer).add("index", f.index).add("count", f.count);
  }
  if (f.what == What::value || f.what == What::unwritten) {
    o.add_text("got", format("%.9g", f.got)).add_text("want", format("%.9g", f.want));
    o.add_text("bound", format("%.3g", f.bound)).add("wrong", f.wrong);
    o.add_raw("others", json::list(f.others, [](std::size_t index) { return std::to_string(index); }));
  }
  if (!f.writer.empty()) o.add_text("writer", f.writer);
  return o.str();
}

// The result of a check.
struct Verdict {
  double worst = 0;                // largest error over its bound; 0 where results must be bit-equal
  std::optional<Failure> failure;  // the first failure, if any
  std::optional<Failure> excused;  // in a lenient case: the first number where NaN is expected
  bool ok() const { return !failure; }
  std::string problem() const { return failure ? text(*failure) : ""; }
};

}  // namespace ladder
