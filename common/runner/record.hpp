// --record=FILE: writes one line of JSON for each verdict, each step left out, and a program that ends during a check.
// Scripts read this file, as steps may print anything.
#pragma once
#include "check.hpp"
#ifdef CUDA_EMU
#include "cuda_emu/report.hpp"
#endif

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ladder {

class Record {
 public:
  static void to(const std::string& path) {
    file() = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (file() < 0) throw UsageError("--record: cannot write '" + path + "'");
#ifdef CUDA_EMU
    cuda_emu::on_report(note);
#endif
  }

  static bool is_on() { return file() >= 0; }

  static void write(const std::string& json) {
    if (!is_on()) return;
    const std::string line = json + "\n";
    if (::write(file(), line.data(), line.size()) < 0) std::perror("--record");
  }

  static void skipped(const Step& step, const char* how, const std::string& why) {
    write(of_step(step).add_text(how, why).str());
  }

  // Returns the CPU backend's reports since the last call, as JSON.
  static std::vector<std::string> take_reports() { return std::exchange(reports(), {}); }

  static json::Object of_step(const Step& step) {
    json::Object o;
    o.add_text("name", step.name).add_text("kernel", step.problem->kernel()).add_text("step", step.id);
    return o;
  }

 private:
  static int& file() {
    static int descriptor = -1;
    return descriptor;
  }
  static std::vector<std::string>& reports() {
    static std::vector<std::string> all;
    return all;
  }

#ifdef CUDA_EMU
  static constexpr std::size_t kMostReports = 16;

  // Returns the address as an element of the nearest array, such as "x[61] of 33"; empty if no array is near. Under
  // AddressSanitizer another array may begin a little further away, so the limit is small.
  static std::string nearest_element(const void* address) {
    constexpr std::uintptr_t kFar = kAddressSanitizer ? 64 : std::uintptr_t{1} << 36;
    const DeviceCase& device = *running.device;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    std::uintptr_t least = kFar;
    std::string found;
    for (std::size_t i = 0; i < device.host_case().buffers().size(); ++i) {
      const Buffer& buffer = device.host_case().buffers()[i];
      const auto begin = reinterpret_cast<std::uintptr_t>(device.arrays().at<const char>(i)),
                 end = begin + buffer.bytes();
      const std::uintptr_t distance = at < begin ? begin - at : at >= end ? at - end : 0;
      if (distance >= least) continue;
      least = distance;
      const std::uintptr_t size = bytes_of(buffer.type);
      const std::string index =
          at >= begin ? std::to_string((at - begin) / size) : "-" + std::to_string((begin - at + size - 1) / size);
      found = std::string(buffer.name) + "[" + index + "] of " + std::to_string(buffer.count);
    }
    return found;
  }

  static json::Object to_json(const cuda_emu::Report& report) {
    const auto triple = [](const unsigned* index) {
      return json::list(std::vector<unsigned>(index, index + 3), [](unsigned i) { return std::to_string(i); });
    };
    json::Object o;
    o.add_text("kind", report.kind)
        .add_text("cause", report.cause)
        .add_text("problem", report.problem)
        .add("fatal", report.fatal);
    o.add_text("kernel", report.kernel).add_text("launched", report.launched).add_text("at", report.at);
    if (report.has_thread) o.add_raw("block", triple(report.block)).add_raw("thread", triple(report.thread));
    o.add_raw(
        "groups", json::list(report.groups, [](const cuda_emu::Report::Group& group) {
          json::Object g;
          return g.add("count", group.count).add_text("doing", group.doing).add_text("threads", group.threads).str();
        }));
    if (running.step) o.add_text("size", running.how.size);
    if (running.device && report.address) o.add_text("element", nearest_element(report.address));
    return o;
  }

  // Keeps one report, the last, per kind and source line: a launch may fail at many sizes.
  static void note(const cuda_emu::Report& report) {
    static std::vector<std::string> places;
    const std::string place = report.kind + report.cause + report.launched + report.at;
    if (reports().empty()) places.clear();
    const auto same = std::find(places.begin(), places.end(), place);
    if (same != places.end()) {
      reports()[same - places.begin()] = to_json(report).str();
    } else if (reports().size() < kMostReports || report.fatal) {
      places.push_back(place);
      reports().push_back(to_json(report).str());
    }
    if (!report.fatal) return;
    json::Object o;
    if (running.step) {
      o = of_step(*running.step);
      o.add_raw("running", ladder::to_json(running.how));
    }
    write(o.add_raw("reports", json::list(take_reports(), [](const std::string& r) { return r; })).str());
  }
#endif
};

}  // namespace ladder
