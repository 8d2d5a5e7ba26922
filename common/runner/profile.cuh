// What a profiler is told of a program's run.
#pragma once
#include "cuda_helpers.cuh"

#ifndef CUDA_EMU
#include <cuda_profiler_api.h>
#endif

namespace ladder {

#ifndef CUDA_EMU
// In a profiler's list of launches, what stands between those of one step and those of the next.
static __global__ void profile_next_step() {}

// As long as this lives, a profiler that was told to wait for it (ncu --profile-from-start off) sees the launches.
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
