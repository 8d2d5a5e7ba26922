// A case's buffers wherever the steps want them.
#pragma once
#include "device_case.hpp"

#include <map>

namespace ladder {

// The case in each place that a step asks for, made when it is first asked for.
class Places {
 public:
  Places(const Case& host, bool guarded, const Offsets& offsets = std::size_t{0})
      : host_(&host), guarded_(guarded), offsets_(offsets) {}
  DeviceCase& operator[](Place place) {
    return cases_.try_emplace(place, *host_, offsets_, guarded_, place).first->second;
  }

  const Arrays& arrays_of(const Step& step) { return (*this)[step.problem->place()].arrays(); }
  // The same buffers with the data of another case, which must live as long.
  void load(const Case& host) {
    host_ = &host;
    for (auto& [place, device] : cases_) device.load(host);
  }

 private:
  const Case* host_;
  bool guarded_;
  Offsets offsets_;
  std::map<Place, DeviceCase> cases_;
};

}  // namespace ladder
