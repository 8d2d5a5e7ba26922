// Runs the Catch2 tests of one program. Exits with 77, which ctest reports as skipped, if a test was skipped and none
// failed.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"
#include "runner/check.hpp"
#include "runner/definitions.hpp"
#include "skip.hpp"

#include <cstdio>

namespace {
int skipped_tests = 0;
}

void skip_test(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  ++skipped_tests;
}

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device\n");
    return kSkipped;
  }
  const std::vector<ladder::Step> unsupported = ladder::take_out_unsupported_steps();
  for (const ladder::Step& step : unsupported) skip_test(step.name + " needs " + step.needs);
  const bool failed = Catch::Session().run(argc, argv) != 0;  // a number of failures could equal kSkipped
  if (failed) return 1;
  return skipped_tests > 0 ? kSkipped : 0;
}
