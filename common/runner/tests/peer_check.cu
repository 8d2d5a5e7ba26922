// A checker like those of many kernel collections: one round size, random aligned data, one absolute epsilon, and a
// comparison that NaN passes. Linked with our planted bugs, it shows how often such a checker says PASS.
#include "../case.hpp"
#include "../definitions.hpp"
#include "cuda_helpers.cuh"

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr double kEpsilon = 1e-3;

// The default size, rounded up to whole tiles.
ladder::Size round_size(const ladder::Problem& problem) {
  constexpr std::size_t tile = 128;
  ladder::Size size;
  for (const ladder::Dim& d : problem.dims()) {
    size.dims.push_back(d.cpu_default < tile / 4 ? d.cpu_default : (d.cpu_default + tile - 1) / tile * tile);
  }
  for (const ladder::Scalar& s : problem.scalars()) size.scalars.push_back(s.default_value);
  return size;
}

bool passes(const ladder::Problem& problem) {
  const ladder::Size size = round_size(problem);
  const ladder::Case host(problem, size, problem.patterns().front(), 1);
  std::vector<void*> pointers;
  for (std::size_t b = 0; b < host.buffers().size(); ++b) {
    const ladder::Buffer& buffer = host.buffers()[b];
    void* pointer = nullptr;
    if (problem.place() == ladder::Place::device) {
      CUDA_CHECK(cudaMalloc(&pointer, buffer.bytes()));
    } else {
      CUDA_CHECK(cudaMallocHost(&pointer, buffer.bytes()));
    }
    CUDA_CHECK(cudaMemset(pointer, 0, buffer.bytes()));
    if (host.host(b)) CUDA_CHECK(cudaMemcpy(pointer, host.host(b), buffer.bytes(), cudaMemcpyDefault));
    pointers.push_back(pointer);
  }
  problem.run(ladder::Arrays(pointers), size);
  CUDA_CHECK(cudaDeviceSynchronize());
  for (std::size_t b = 0; b < host.buffers().size(); ++b) {
    const ladder::Buffer& buffer = host.buffers()[b];
    if (buffer.role == ladder::Role::input) continue;
    std::vector<unsigned char> got(buffer.bytes());
    std::vector<double> want(buffer.count), scale(buffer.count);
    CUDA_CHECK(cudaMemcpy(got.data(), pointers[b], buffer.bytes(), cudaMemcpyDefault));
    host.expect({b, 0, buffer.count}, want.data(), scale.data());
    for (std::size_t i = 0; i < buffer.count; ++i) {
      if (std::fabs(ladder::load_element(buffer.type, got.data(), i).value - want[i]) > kEpsilon) return false;
    }
  }
  return true;
}

}  // namespace

__attribute__((visibility("default"))) int main() {
  const ladder::Step& step = ladder::steps().front();
  try {
    const bool ok = passes(*step.problem);
    std::printf("%s: %s\n", step.name.c_str(), ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s: FAIL, %s\n", step.name.c_str(), error.what());
    return 1;
  }
}
