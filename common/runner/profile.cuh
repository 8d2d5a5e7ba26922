// Marks the launches that a profiler should record.
#pragma once
#include "cuda_helpers.cuh"

#ifndef CUDA_EMU
#include <cuda_profiler_api.h>
#endif

namespace ladder {

#ifndef CUDA_EMU
// Launched between two steps, so that a profiler's list of launches can be split by step.
static __global__ void profile_next_step() {}

// During its lifetime a profiler started with ncu --profile-from-start off records launches.
class ProfiledRange {
 public:
  ProfiledRange() { CUDA_CHECK(cudaProfilerStart()); }
  ~ProfiledRange() { cudaProfilerStop(); }
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;

  void next_step() {
    profile_next_step<<<1, 1>>>();
    CUDA_CHECK(cudaGetLastError());
  }
};
#else
class ProfiledRange {
 public:
  ProfiledRange() {}
  void next_step() {}
};
#endif

}  // namespace ladder
