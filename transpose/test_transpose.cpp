// Tests beyond the general ones of every step: properties of a transpose, more rows than gridDim.y allows, thin shapes.
#include "catch.hpp"
#include "runner/check.hpp"

using namespace ladder;

namespace {

std::vector<float> numbers(std::size_t n) {
  std::vector<float> host(n);
  for (std::size_t i = 0; i < n; ++i) host[i] = static_cast<float>(i + 1);
  return host;
}

void upload(DeviceBuffer<float>& device, const std::vector<float>& host) {
  CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
}

std::vector<float> download(const DeviceBuffer<float>& device, std::size_t n) {
  std::vector<float> host(n);
  CUDA_CHECK(cudaMemcpy(host.data(), device.get(), n * sizeof(float), cudaMemcpyDeviceToHost));
  return host;
}

std::vector<const Step*> steps_of(const std::string& kernel) {
  std::vector<const Step*> found;
  for (const Step& step : steps()) {
    if (step.problem->kernel() == kernel) found.push_back(&step);
  }
  REQUIRE(!found.empty());
  return found;
}

}  // namespace

TEST_CASE("a 2 x 3 matrix, by hand") {
  DeviceBuffer<float> in(6), out(6);
  upload(in, {1, 2, 3,  //
              4, 5, 6});
  for (const Step* step : steps_of("transpose")) {
    INFO(step->name);
    step->problem->run(Arrays({in.get(), out.get()}), {2, 3});
    CHECK(download(out, 6) == std::vector<float>{1, 4,  //
                                                 2, 5,  //
                                                 3, 6});
  }
}

TEST_CASE("transposed twice is as before") {
  const std::size_t rows = 77, cols = 203;
  const std::vector<float> before = numbers(rows * cols);
  DeviceBuffer<float> a(before.size()), b(before.size()), c(before.size());
  upload(a, before);
  for (const Step* step : steps_of("transpose")) {
    INFO(step->name);
    step->problem->run(Arrays({a.get(), b.get()}), {rows, cols});
    step->problem->run(Arrays({b.get(), c.get()}), {cols, rows});
    CHECK(download(c, before.size()) == before);
    CHECK(download(b, before.size()) != before);
  }
}

TEST_CASE("transposed twice in place is as before, once is not") {
  for (const std::size_t n : {2, 64, 101}) {
    const std::vector<float> before = numbers(n * n);
    DeviceBuffer<float> a(before.size());
    for (const Step* step : steps_of("transpose_inplace")) {
      INFO(step->name << ", n=" << n);
      upload(a, before);
      step->problem->run(Arrays({a.get()}), {n});
      CHECK(download(a, before.size()) != before);
      step->problem->run(Arrays({a.get()}), {n});
      CHECK(download(a, before.size()) == before);
    }
  }
}

// A 2-D grid of 32 x 32 tiles would need gridDim.y = 65536 here, one too many. A step must be right, or refuse the size
// and be right with one row less. 65536 blocks of 1024 threads take 20 seconds, minutes under AddressSanitizer.
TEST_CASE("more rows than gridDim.y has tiles") {
  if (kAddressSanitizer) {
    WARN("skipped under AddressSanitizer: more rows than gridDim.y has tiles");
    return;
  }
  std::size_t refusals = 0;
  for (const Step& step : steps()) {
    if (step.problem->dims().size() != 2) continue;
    INFO(step.name);
    Size size{65535 * 32 + 1, 1};
    try {
      step.problem->buffers(size);
    } catch (const UsageError& error) {
      CHECK(error.what() == std::string("--rows: this step takes at most 2097120, 65535 blocks of 32 in gridDim.y"));
      size = {65535 * 32, 1};
      ++refusals;
#ifdef CUDA_EMU  // slow there: only the first step that refuses runs with the largest grid
      if (refusals > 1) continue;
#endif
    }
    const Pattern pattern = step.problem->patterns()[1];
    REQUIRE(pattern.name == std::string("index"));
    const Case host(*step.problem, size, pattern, 1);
    DeviceCase device(host, 0, !kAddressSanitizer);
    CHECK(check(step, device).problem() == "");
  }
  CHECK(refusals == 9);  // transpose 01 to 07, copy_row, copy_col
}

// Transposing a vector moves nothing, so the result equals the input bit for bit.
TEST_CASE("a single row becomes a single column") {
  const std::size_t n = 1003;
  const std::vector<float> before = numbers(n);
  DeviceBuffer<float> in(n), out(n);
  upload(in, before);
  for (const Step* step : steps_of("transpose")) {
    INFO(step->name);
    for (const Size& size : {Size{1, n}, Size{n, 1}}) {
      CUDA_CHECK(cudaMemset(out.get(), 0xff, n * sizeof(float)));
      step->problem->run(Arrays({in.get(), out.get()}), size);
      CHECK(download(out, n) == before);
    }
  }
}

// Tiles of every width, full and partial, few rows and few columns, at any alignment.
TEST_CASE("transpose_any_shape: few rows and few columns") {
  const std::size_t enough = std::size_t{4} * sm_count();
  bool any = false;
  for (const Step& step : steps()) {
    if (step.name != "transpose_any_shape") continue;
    any = true;
    for (const std::size_t few : {1, 3, 31, 32, 62, 200}) {
      for (const bool wide : {false, true}) {
        std::size_t width = 32;
        while (wide && 2 * width * few <= 8192) width *= 2;
        const std::size_t length = enough * width + 13;
        for (const Size& size : {Size{few, length}, Size{length, few}}) {
          INFO(size[0] << " x " << size[1]);
          const Case host(*step.problem, size, step.problem->patterns()[0], 1);
          for (const Offsets& offsets : {Offsets(0), Offsets({1, 3})}) {
            DeviceCase device(host, offsets, !kAddressSanitizer);
            CHECK(check_candidates(step, device).problem() == "");
          }
        }
      }
    }
  }
  CHECK(any);
}
