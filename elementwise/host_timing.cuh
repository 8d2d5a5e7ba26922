// Median times of single parts of a step, for Problem::figures.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <vector>

// Returns the median time of run() and the device work that it starts. prepare() is called before each run, untimed.
template <typename Prepare, typename Run>
double median_us(Prepare prepare, Run run) {
  constexpr int samples = 9;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  std::vector<double> us;
  for (int i = -1; i < samples; ++i) {  // the first one warms up
    prepare();
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaEventRecord(start));
    run();
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    if (i >= 0) us.push_back(1e3 * ms);
  }
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  std::sort(us.begin(), us.end());
  return us[us.size() / 2];
}
