// A case's buffers in every place that steps ask for.
#pragma once
#include "device_case.hpp"

#include <map>

namespace ladder {

// Holds one DeviceCase per place, created on first use.
class Places {
 public:
  Places(const Case& host, bool guarded, const Offsets& offsets = std::size_t{0})
      : host_(&host), guarded_(guarded), offsets_(offsets) {}
  DeviceCase& operator[](Place place) {
    return cases_.try_emplace(place, *host_, offsets_, guarded_, place).first->second;
  }

  const Arrays& arrays_of(const Step& step) { return (*this)[step.problem->place()].arrays(); }
  // Loads the data of another case, which must outlive this, into the same buffers.
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
