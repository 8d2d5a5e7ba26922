// Catch2's main. Exits with 77 (skipped) where the tests need a CUDA device and there is none.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <cuda_runtime.h>

#include <cstdio>

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no CUDA device");
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
