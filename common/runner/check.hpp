// Verification: does a step compute the right thing, write all of it, and write nothing else? check() runs a step on
// one case, check_all() on all that it must be right on.
#pragma once
#include "device_case.hpp"

#include <string>
#include <vector>

namespace ladder {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

// Runs a step on fresh poison and says whether all is right. A CUDA error is a verdict too, and is cleared where that
// is possible. If the step damaged what later steps need, it is put back.
inline Verdict check(const Step& step, DeviceCase& device) {
  Verdict verdict;
  try {
    device.prepare_outputs();
    step.problem->run(device.arrays(), device.host_case().size());
    CUDA_CHECK(cudaDeviceSynchronize());
    verdict = device.verdict(*step.problem);
    if (!verdict.ok()) device.reset();
  } catch (const CudaError& error) {
    verdict.problem = error.what();
    cudaGetLastError();
#ifdef CUDA_EMU
    cudaDeviceReset();  // there, memory survives a reset
    device.reset();
#endif
  }
  return verdict;
}

inline bool is_shown(const Dim& dim, std::size_t value) { return dim.gpu_default > 0 || value > 0; }

// "n=1024", "m=8 k=16 alpha=1 beta=0"
inline std::string describe(const Problem& problem, const Size& size) {
  const std::vector<Dim> dims = problem.dims();
  const std::vector<Scalar> scalars = problem.scalars();
  std::string text;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (is_shown(dims[d], size[d])) text += " " + std::string(dims[d].name) + "=" + std::to_string(size[d]);
  }
  for (std::size_t s = 0; s < scalars.size(); ++s) {
    text += " " + std::string(scalars[s].name) + "=" + format("%g", size.scalars[s]);
  }
  return text.substr(1);
}

// The patterns to try at a size: all of the problem's, but at a large size only the first two.
inline std::vector<Pattern> patterns_for(const Problem& problem, const Size& size) {
  constexpr double large_bytes = 1 << 20;
  constexpr std::size_t when_large = 2;
  std::vector<Pattern> patterns = problem.patterns();
  if (problem.bytes(size) > large_bytes && patterns.size() > when_large) patterns.resize(when_large);
  return patterns;
}

// Does a device of compute capability `capability` (90 for 9.0) run what is compiled for `needs`? "sm_90" runs there
// and on all newer devices, "sm_90a" there alone.
inline bool meets(int capability, const std::string& needs) {
  if (needs.empty()) return true;
  const int wanted = std::stoi(needs.substr(std::strlen("sm_")));
  return needs.back() == 'a' ? capability == wanted : capability >= wanted;
}

// Takes the steps that the current device cannot run out of steps().
inline std::vector<Step> take_out_unsupported_steps() {
  int major = 0, minor = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  const auto first = std::stable_partition(steps().begin(), steps().end(),
                                           [&](const Step& step) { return meets(10 * major + minor, step.needs); });
  std::vector<Step> unsupported(std::make_move_iterator(first), std::make_move_iterator(steps().end()));
  steps().erase(first, steps().end());
  return unsupported;
}

// How check_all goes about it.
struct CheckPlan {
  std::vector<Size> sizes;
  std::vector<std::size_t> offsets = {0, 1};
  std::uint64_t seed = 1;
  bool guarded = !kAddressSanitizer;
};

// Checks `step` on every size and offset of the plan, with all patterns for that size; stops at the first failure,
// whose line names them.
inline Verdict check_all(const Step& step, const CheckPlan& plan, std::size_t* checks = nullptr) {
  Verdict all;
  for (const Size& size : plan.sizes) {
    for (const Pattern& pattern : patterns_for(*step.problem, size)) {
      const Case host(*step.problem, size, pattern, plan.seed);
      for (const std::size_t offset : plan.offsets) {
        DeviceCase device(host, offset, plan.guarded, step.problem->place());
        const Verdict v = check(step, device);
        if (checks) ++*checks;
        all.worst = std::max(all.worst, v.worst);
        if (v.ok()) continue;
        all.problem = describe(*step.problem, size) + ", " + pattern.name + " data" +
                      (offset ? ", pointers + " + std::to_string(offset) : "") + ": " + v.problem;
        return all;
      }
    }
  }
  return all;
}

}  // namespace ladder
