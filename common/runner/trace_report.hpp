// Runs a step once with tracing (CPU backend, preset cpu-trace) and prints it as JSON for scripts/explain.
#pragma once
#include "cuda_emu/trace.hpp"
#include "record.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace ladder {

namespace json {

constexpr const char* kTypeNames[] = {"float32", "int32", "float16", "bfloat16",
                                      "int64",   "int8",  "uint8"};  // as in Type

inline std::string arrays(const std::vector<Buffer>& buffers, const Arrays& device) {
  std::size_t number = 0;
  return list(buffers, [&](const Buffer& b) {
    Object o;
    o.add_text("name", b.name).add_text("type", kTypeNames[static_cast<std::size_t>(b.type)]);
    return o.add("begin", reinterpret_cast<std::uintptr_t>(device.at<char>(number++))).add("bytes", b.bytes()).str();
  });
}

}  // namespace json

struct Traced {
  Verdict verdict;
  std::vector<cuda_emu::trace::Launch> launches;
  std::vector<std::string> reports;  // the CPU backend's, as JSON
  std::string arrays;                // the problem's, as JSON

  bool has_race() const {
    return std::any_of(launches.begin(), launches.end(), [](const auto& launch) { return !launch.races.empty(); });
  }
};

// Runs the step once, or each candidate of a program for any shape, and checks it. `events`: keeps every event.
inline Traced trace_step(const Step& step, const Case& host, const Offsets& offsets = 0, bool each_candidate = false,
                         bool events = false) {
  DeviceCase device(host, offsets, false, step.problem->place());
  running = {&step, at_size(*step.problem, host.size()), &device};
  cuda_emu::trace::start(events);
  Traced traced;
  candidate_run() = {};
  traced.verdict = each_candidate ? check_candidates(step, device) : check(step, device);
  candidate_run() = {};
  traced.launches = cuda_emu::trace::stop();
  if (!traced.verdict.ok()) traced.verdict.failure->run_as(running.how);
  traced.reports = Record::take_reports();
  traced.arrays = json::arrays(host.buffers(), device.arrays());
  running.device = nullptr;
  return traced;
}

inline std::string to_text(const uint3& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

// Returns "race, read after write in shared memory with no barrier between: sum.cu:20, thread (0,0,0) of block (0,0,0),
// and ...", with the first two accesses that race at these lines.
inline std::string to_text(const cuda_emu::trace::Race& race) {
  const auto side = [](const cuda_emu::trace::Race::Side& s) {
    const std::string file = s.line.file.substr(s.line.file.rfind('/') + 1);
    return file + ":" + std::to_string(s.line.number) + ", thread " + to_text(s.thread) + " of block " +
           to_text(s.block);
  };
  return std::string("race, ") + name(race.kind) + " in " + name(race.space) + " memory with " +
         (race.between_blocks ? "no fence and atomic" : "no barrier") + " between: " + side(race.first) + ", and " +
         side(race.second) + ", " + std::to_string(race.count) + " times";
}

// Returns the verdict on a traced run and its races, one per line.
inline std::string to_text(const Step& step, const Traced& traced) {
  std::string text = step.name + ": " + (traced.verdict.ok() ? "PASS" : "FAIL, " + traced.verdict.problem());
  for (const cuda_emu::trace::Launch& launch : traced.launches) {
    for (const cuda_emu::trace::Race& race : launch.races) text += "\n" + step.name + ": " + to_text(race);
  }
  return text;
}

namespace json {

inline std::string triple(const uint3& index) {
  return list(std::vector<unsigned>{index.x, index.y, index.z}, [](unsigned i) { return std::to_string(i); });
}

inline Object at_line(const cuda_emu::trace::Line& line) {
  Object o;
  o.add_text("file", line.file).add("line", line.number);
  return o;
}

inline Object counts(const cuda_emu::trace::Counts& c) {
  Object o;
  o.add("requests", c.requests).add("lanes", c.lanes).add("units", c.units).add("ideal", c.ideal);
  return o.add("bytes_requested", c.bytes_requested).add("bytes_moved", c.bytes_moved);
}

inline void merged(Object& o, const cuda_emu::trace::Counts& c) {
  o.add("merged_requests", c.requests).add("merged_units", c.units).add("merged_ideal", c.ideal);
}

inline std::string sample(const cuda_emu::trace::Sample& s, cuda_emu::trace::Space space) {
  using cuda_emu::trace::Space;
  Object o;
  o.add_raw("block", triple(s.block)).add("warp", s.warp).add("units", s.units).add("ideal", s.ideal);
  o.add_raw("allocation", space == Space::global ? std::to_string(s.allocation) : "null");
  o.add_raw("offsets",
            list(s.offsets, [](std::int64_t offset) { return offset < 0 ? "null" : std::to_string(offset); }));
  if (space == Space::shared) {
    o.add_raw("passes", list(s.passes, [](int pass) { return pass < 0 ? "null" : std::to_string(pass); }));
  }
  return o.str();
}

inline std::string access(const cuda_emu::trace::Access& a) {
  using cuda_emu::trace::Space;
  Object histogram, o = at_line(a.line);
  for (const auto& [units, requests] : a.histogram) histogram.add(std::to_string(units), requests);
  o.add_text("space", name(a.space)).add_text("op", name(a.op)).add("width", a.width).add("async", a.async);
  o.add("requests", a.requests).add("lanes", a.lanes);
  o.add_text("unit", a.space == Space::global ? "sectors" : "wavefronts").add("units", a.units).add("ideal", a.ideal);
  o.add("worst", a.worst).add("same_address", a.same_address);
  if (a.space == Space::shared && a.op == cuda_emu::trace::Op::load) merged(o, a.merged);
  o.add("bytes_requested", a.bytes_requested).add("bytes_moved", a.bytes_moved).add_raw("histogram", histogram.str());
  o.add_raw("samples", list(a.samples, [&](const auto& s) { return sample(s, a.space); }));
  return o.add_raw("worst_sample", sample(a.worst_sample, a.space)).str();
}

inline std::string race(const cuda_emu::trace::Race& r) {
  const auto side = [](const cuda_emu::trace::Race::Side& s) {
    Object o = at_line(s.line);
    o.add_text("op", name(s.op)).add_raw("block", triple(s.block)).add_raw("thread", triple(s.thread));
    return o.str();
  };
  Object o;
  o.add_text("kind", name(r.kind)).add_text("scope", r.between_blocks ? "grid" : "block");
  o.add_text("space", name(r.space)).add_raw("first", side(r.first)).add_raw("second", side(r.second));
  o.add_raw("executed", list(r.executed, [](const std::array<std::uint32_t, 2>& both) {
              return "[" + std::to_string(both[0]) + "," + std::to_string(both[1]) + "]";
            }));
  return o.add("count", r.count).str();
}

// Omits words that the event does not use, and fields that this kind of event does not have.
inline std::string event(const cuda_emu::trace::WarpEvent& e) {
  using cuda_emu::trace::WarpEvent;
  const bool is_collective = e.kind == WarpEvent::Kind::collective;
  const bool has_words =
      std::all_of(e.parts.begin(), e.parts.end(), [](const WarpEvent::Part& p) { return p.words[3] != 0; });
  const std::size_t words = is_collective                                         ? 2 * has_words
                            : e.op == cuda_emu::trace::Op::atomic && e.width <= 8 ? 4
                                                                                  : (e.width + 3) / 4;
  const auto of_parts = [&](auto value) { return list(e.parts, value); };
  Object o = at_line(e.line);
  o.add_text("kind", name(e.kind)).add("block", e.block).add("warp", e.warp).add("lanes", e.lanes);
  o.add_raw("executed", of_parts([](const WarpEvent::Part& p) { return std::to_string(p.executed); }));
  if (*e.what != 0) o.add_text("what", e.what);
  const bool moves = e.kind == WarpEvent::Kind::access || e.kind == WarpEvent::Kind::landing;
  if (moves || is_collective) {
    o.add_raw("words", of_parts([&](const WarpEvent::Part& p) {
                return list(std::vector<std::uint32_t>(p.words.begin(), p.words.begin() + words),
                            [](std::uint32_t word) { return std::to_string(word); });
              }));
  }
  if (is_collective && e.parts.front().words[2] != 0) {
    o.add_text("type", e.parts.front().words[3] == 2 ? "float32" : "int32");
    o.add_raw("from", of_parts([](const WarpEvent::Part& p) { return std::to_string(p.words[2] - 1); }));
  }
  if (!moves) return o.str();
  o.add("site", reinterpret_cast<std::uintptr_t>(e.return_address)).add("array", e.array);
  o.add_text("space", name(e.space)).add_text("op", name(e.op)).add("width", e.width).add("async", e.async);
  o.add("units", e.units).add("ideal", e.ideal);
  o.add_raw("addresses", of_parts([](const WarpEvent::Part& p) { return std::to_string(p.address); }));
  return o.add_raw("passes", of_parts([](const WarpEvent::Part& p) { return std::to_string(p.pass); })).str();
}

inline std::string shared_array(const cuda_emu::trace::SharedArray& array) {
  int status = 0;
  char* type = abi::__cxa_demangle(array.type->element->name(), nullptr, nullptr, &status);
  Object o;
  o.add_text("name", array.name).add_text("type", status == 0 ? type : "").add("begin", array.begin);
  free(type);
  std::vector<std::size_t> extents(array.type->extents.begin(), array.type->extents.end());
  extents.erase(std::find(extents.begin(), extents.end(), 0u), extents.end());
  o.add("bytes", array.bytes).add("element", array.type->element_size);
  return o.add_raw("extents", list(extents, [](std::size_t extent) { return std::to_string(extent); })).str();
}

inline std::string launch(const cuda_emu::trace::Launch& l) {
  using cuda_emu::trace::Op;
  using cuda_emu::trace::Space;
  Object totals, o;
  for (const Space space : {Space::global, Space::shared}) {
    for (const Op op : {Op::load, Op::store, Op::atomic}) {
      Object sum = counts(l.total(space, op));
      if (space == Space::shared && op == Op::load) {
        merged(sum, l.merged_shared_loads);
      }
      totals.add_raw((std::string(name(space)) + "_" + name(op)).c_str(), sum.str());
    }
  }
  o.add_text("kernel", l.kernel)
      .add_text("file", l.line.file)
      .add("line", l.line.number)
      .add_raw("grid", triple(l.grid))
      .add_raw("block", triple(l.block));
  o.add("shared_bytes", l.shared_bytes).add("cooperative", l.cooperative);
  o.add("warp_steps", l.warp_steps).add("lane_steps", l.lane_steps);
  o.add("branches", l.branches).add("divergent_branches", l.divergent_branches).add_raw("totals", totals.str());
  o.add_raw("accesses", list(l.accesses, access));
  o.add_raw("branches_at", list(l.branches_at, [](const cuda_emu::trace::Branches& b) {
              Object at = at_line(b.line);
              at.add("branches", b.branches).add("divergent", b.divergent);
              return at.add("warp_steps", b.warp_steps).add("lane_steps", b.lane_steps).str();
            }));
  if (!l.events.empty()) {
    o.add("all_events", l.all_events).add_raw("events", list(l.events, event));
    o.add_raw("shared_arrays", list(l.shared_arrays, shared_array));
    o.add_raw("allocations", list(l.allocations, [](const cuda_emu::trace::Allocation& a) {
                return Object().add("begin", a.begin).add("bytes", a.bytes).str();
              }));
  }
  return o.add_raw("races", list(l.races, race)).str();
}

}  // namespace json

// Returns the traced run as one line of JSON.
inline std::string to_json(const Step& step, const Size& size, const Traced& traced) {
  const Problem& problem = *step.problem;
  json::Object shown, o;
  const std::vector<Dim> dims = problem.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (is_shown(dims[d], size[d])) shown.add(dims[d].name, size[d]);
  }
  for (std::size_t s = 0; s < problem.scalars().size(); ++s) {
    shown.add_raw(problem.scalars()[s].name, format("%g", size.scalars[s]));
  }
  o.add_text("step", step.name).add_text("family", problem.family()).add_text("kernel", problem.kernel());
  o.add_raw("size", shown.str()).add("right", traced.verdict.ok());
  if (!traced.verdict.ok()) o.add_raw("failure", to_json(*traced.verdict.failure));
  if (!traced.reports.empty()) o.add_raw("reports", json::list(traced.reports, [](const std::string& r) { return r; }));
  o.add_raw("arrays", traced.arrays);
  return o.add_raw("launches", json::list(traced.launches, json::launch)).str();
}

}  // namespace ladder
