// Tests beyond the general ones of every step: small cases by hand, borders, invariants of time steps, thin domains.
#include "catch.hpp"
#include "runner/check.hpp"
#include "runner/options.hpp"

#include "heat3d/heat3d.cuh"
#include "thin_domain.hpp"

#include <cuda_bf16.h>

#include <algorithm>
#include <array>
#include <cmath>

using namespace ladder;

namespace {

DeviceBuffer<float> upload(const std::vector<float>& host) {
  DeviceBuffer<float> device(host.size());
  if (!host.empty()) {
    CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  return device;
}

// Returns the problem's last buffer after the step ran on these inputs. Arrays start `offset` floats after a 16-byte
// boundary.
std::vector<float> result(const Step& step, const Size& size, std::vector<std::vector<float>> arrays,
                          std::size_t offset = 0) {
  arrays.push_back(std::vector<float>(step.problem->buffers(size).back().count, -77.0f));
  std::vector<DeviceBuffer<float>> memory;
  std::vector<void*> pointers;
  for (std::vector<float>& array : arrays) {
    array.insert(array.begin(), offset, 0.0f);
    memory.push_back(upload(array));
    pointers.push_back(memory.back().get() + offset);
  }
  step.problem->run(Arrays(pointers), size);
  std::vector<float> out(arrays.back().size() - offset);
  if (!out.empty()) {
    CUDA_CHECK(cudaMemcpy(out.data(), pointers.back(), out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  }
  return out;
}

// Like result(), for BF16 arrays.
std::vector<float> result_in_bf16(const Step& step, const Size& size, const std::vector<std::vector<float>>& arrays) {
  std::vector<DeviceBuffer<__nv_bfloat16>> memory;
  std::vector<void*> pointers;
  for (const Buffer& buffer : step.problem->buffers(size)) {
    std::vector<__nv_bfloat16> host(buffer.count, __float2bfloat16(-77.0f));
    if (memory.size() < arrays.size())
      std::copy(arrays[memory.size()].begin(), arrays[memory.size()].end(), host.begin());
    memory.emplace_back(host.size());
    pointers.push_back(memory.back().get());
    CUDA_CHECK(cudaMemcpy(pointers.back(), host.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  }
  step.problem->run(Arrays(pointers), size);
  std::vector<__nv_bfloat16> out(memory.back().count());
  CUDA_CHECK(cudaMemcpy(out.data(), pointers.back(), out.size() * sizeof out[0], cudaMemcpyDeviceToHost));
  return std::vector<float>(out.begin(), out.end());
}

std::vector<const Step*> steps_of(const std::string& kernel) {
  std::vector<const Step*> found;
  for (const Step& step : steps()) {
    if (step.problem->kernel() == kernel) found.push_back(&step);
  }
  REQUIRE(!found.empty());
  return found;
}

std::vector<float> numbers(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(patterns::random(1, 0, i, n));
  return values;
}

// Small integers, exact in BF16.
std::vector<float> whole_numbers(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(patterns::integers(1, 0, i, n));
  return values;
}

}  // namespace

TEST_CASE("stencil1d: one spike shows all coefficients, mirrored and with the other sign on the right") {
  const std::size_t n = 700;
  const std::vector<float> c = {5, -3, 2, 7};
  for (const std::size_t at : {0, 2, 255, 256, 400, 697, 699}) {
    std::vector<float> f(n, 0.0f), want(n, 0.0f);
    f[at] = 1;
    for (std::size_t k = 1; k <= 4; ++k) {
      if (at >= k) want[at - k] = c[k - 1];
      if (at + k < n) want[at + k] = -c[k - 1];
    }
    for (const Step* step : steps_of("stencil1d")) {
      INFO(step->name << ", spike at " << at);
      CHECK(result(*step, {n}, {f, c}) == want);
    }
  }
}

TEST_CASE("stencil1d: the derivative of a sine is a cosine") {
  const std::size_t n = 1000;
  const double h = 0.05;
  std::vector<float> f(n);
  for (std::size_t i = 0; i < n; ++i) f[i] = static_cast<float>(std::sin(h * static_cast<double>(i)));
  for (const Step* step : steps_of("stencil1d")) {
    INFO(step->name);
    const std::vector<float> d = result(*step, {n}, {f, {0.8f, -0.2f, 4 / 105.0f, -1 / 280.0f}});
    double worst = 0;  // of the elements whose whole stencil is inside
    for (std::size_t i = 4; i + 4 < n; ++i) {
      worst = std::max(worst, std::fabs(d[i] / h - std::cos(h * static_cast<double>(i))));
    }
    CHECK(worst < 5e-6);  // rounding of f, divided by h; the method's own error is h^8 / 630
  }
}

TEST_CASE("blur: 3 x 4 pixels, by hand") {
  const std::vector<float> in = {9,  18, 27, 36,  //
                                 45, 54, 63, 72,  //
                                 81, 90, 99, 108};
  for (const Step* step : steps_of("blur")) {
    INFO(step->name);
    CHECK(result(*step, {3, 4}, {in}) == std::vector<float>{54, 63, 69, 72,  //
                                                            78, 87, 93, 96,  //
                                                            90, 99, 105, 108});
  }
}

TEST_CASE("blur: the window lies to the right of a pixel and below it") {
  const std::size_t rows = 40, cols = 300;
  std::vector<float> in(rows * cols, 0.0f), want(rows * cols, 0.0f);
  in[17 * cols + 130] = 9;
  for (std::size_t r = 15; r <= 17; ++r) {
    for (std::size_t c = 128; c <= 130; ++c) want[r * cols + c] = 1;
  }
  for (const Step* step : steps_of("blur")) {
    INFO(step->name);
    CHECK(result(*step, {rows, cols}, {in}) == want);
  }
}

TEST_CASE("blur: an even image stays as it is, edges and all") {
  for (const Step* step : steps_of("blur")) {
    for (const Size& size : {Size{1, 1}, Size{1, 40}, Size{40, 1}, Size{2, 2}, Size{33, 65}, Size{35, 260}}) {
      INFO(step->name << ", " << describe(*step->problem, size));
      const std::vector<float> in(size[0] * size[1], 7.0f);
      CHECK(result(*step, size, {in}) == in);
    }
  }
}

TEST_CASE("conv2d: a filter with a single 1 shifts the image") {
  const std::size_t rows = 21, cols = 140;
  const std::vector<float> in = numbers(rows * cols);
  for (const std::size_t k : {3, 5, 7}) {
    for (std::size_t tap = 0; tap < k * k; ++tap) {
      std::vector<float> w(k * k, 0.0f), want(rows * cols, 0.0f);
      w[tap] = 1;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < cols; ++c) {
          const std::size_t y = r + tap / k - k / 2, x = c + tap % k - k / 2;
          if (y < rows && x < cols) want[r * cols + c] = in[y * cols + x];
        }
      }
      for (const Step* step : steps_of("conv2d")) {
        INFO(step->name << ", k = " << k << ", tap " << tap);
        CHECK(result(*step, {rows, cols, k}, {in, w}) == want);
      }
    }
  }
}

TEST_CASE("conv2d: calls with other weights do not disturb each other") {
  const std::vector<float> in = numbers(30 * 64);
  for (const Step* step : steps_of("conv2d")) {
    INFO(step->name);
    const std::vector<float> ones(25, 1.0f), twos(25, 2.0f), seven(49, 1.0f);
    const std::vector<float> first = result(*step, {30, 64, 5}, {in, ones});
    result(*step, {30, 64, 7}, {in, seven});
    const std::vector<float> twice = result(*step, {30, 64, 5}, {in, twos});
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(twice[i] == 2 * first[i]);
  }
}

TEST_CASE("conv2d: other filters than 3, 5 and 7 are refused") {
  const Problem& problem = *steps_of("conv2d").front()->problem;
  for (const std::size_t k : {1, 2, 4, 6}) CHECK_THROWS_AS(problem.buffers({8, 8, k}), UsageError);
  CHECK(problem.buffers({8, 8, 0})[1].count == 9);
  CHECK(problem.buffers({8, 8, 7})[1].count == 49);
}

TEST_CASE("jacobi2d: a plane solves Laplace's equation and stays as it is") {
  const std::size_t rows = 37, cols = 260;
  std::vector<float> in(rows * cols);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(3 * (i / cols) + 5 * (i % cols)) - 400;
  for (const Step* step : steps_of("jacobi2d")) {
    for (const std::size_t steps : {1, 4, 7}) {
      INFO(step->name << ", steps = " << steps);
      CHECK(result(*step, {rows, cols, steps}, {in}) == in);
    }
  }
}

TEST_CASE("heat3d: the borders keep their values, and inside a spike spreads to its neighbours") {
  const std::size_t nx = 140, ny = 35, nz = 9;
  for (const Step* step : steps_of("heat3d")) {
    INFO(step->name);
    std::vector<float> in(nx * ny * nz, 0.0f);
    const std::size_t spike = (4 * ny + 29) * nx + 119;
    in[spike] = 8;
    std::vector<float> want = in;
    want[spike] = 2;
    for (const std::size_t d : {std::size_t{1}, nx, nx * ny}) want[spike - d] = want[spike + d] = 1;
    CHECK(result(*step, {{nx, ny, nz, 1}, {0.25f, 0.125f}}, {in}) == want);

    for (float& v : in) v = 1;  // uniform: nothing changes if c0 + 6 c1 = 1
    CHECK(result(*step, {{nx, ny, nz, 3}, {0.25f, 0.125f}}, {in}) == in);
    const std::vector<float> half = result(*step, {{nx, ny, nz, 1}, {0.5f, 0}}, {in});
    for (std::size_t i = 0; i < half.size(); ++i) {
      const std::size_t x = i % nx, y = i / nx % ny, z = i / nx / ny;
      const bool border = x == 0 || x + 1 == nx || y == 0 || y + 1 == ny || z == 0 || z + 1 == nz;
      if (half[i] != (border ? 1.0f : 0.5f)) FAIL_CHECK("wrong at " << x << " " << y << " " << z << ": " << half[i]);
    }
  }
}

TEST_CASE("heat3d: marches as long as the device's blocks suggest") {
  const auto time = [](std::size_t nz, std::size_t tiles, std::size_t resident, std::size_t depth) {
    return ceil_div(tiles * ceil_div(nz, depth), resident) * (depth + 6);
  };
  CHECK(march_depth(512, 130, 264, 6) == 256);  // 512^3 on an H200: 260 blocks, one wave
  CHECK(march_depth(256, 39, 264, 6) == 43);    // 256^3: 39 x 6 = 234 blocks, one wave
  CHECK(march_depth(1, 1, 264, 6) == 1);
  CHECK(march_depth(100, 1, 264, 6) == 1);         // more SMs than planes
  CHECK(march_depth(30, 100000, 264, 6) == 30);    // enough tiles: no march is split
  CHECK(march_depth(1 << 20, 1, 264, 6) == 3972);  // long and thin: one wave, 264 marches
  for (const std::size_t nz : {7, 64, 302, 1000}) {
    for (const std::size_t tiles : {1, 48, 130, 131, 500, 1000}) {
      const std::size_t depth = march_depth(nz, tiles, 264, 6);
      INFO("nz = " << nz << ", tiles = " << tiles << ", depth = " << depth);
      REQUIRE(depth >= 1);
      CHECK(depth <= nz);
      std::size_t least = time(nz, tiles, 264, nz);
      for (std::size_t d = 1; d < nz; ++d) least = std::min(least, time(nz, tiles, 264, d));
      CHECK(time(nz, tiles, 264, depth) * 10 <= least * 11);  // at most 10 % above the best depth
    }
  }
}

TEST_CASE("time steps: the reference is the same piece by piece as in one") {
  for (const Step* step : {steps_of("jacobi2d").front(), steps_of("heat3d").front()}) {
    const Problem& problem = *step->problem;
    const bool flat = problem.dims().size() == 3;
    const Size size = flat ? Size{9, 40, 3} : Size{{40, 5, 6, 3}, {0.25f, 0.125f}};
    std::vector<float> in = numbers(problem.buffers(size)[0].count);
    const Arrays host({in.data(), nullptr});
    std::vector<double> want(in.size()), scale(in.size());
    problem.expect(host, size, {1, 0, in.size()}, want.data(), scale.data());
    for (const std::size_t piece : {1, 7, 39, 40, 41, 100}) {  // less than a row, a row, more
      INFO(problem.kernel() << ", pieces of " << piece);
      std::vector<double> piecewise(in.size()), magnitudes(in.size());
      for (std::size_t at = 0; at < in.size(); at += piece) {
        const std::size_t end = std::min(at + piece, in.size());
        problem.expect(host, size, {1, at, end}, &piecewise[at], &magnitudes[at]);
      }
      CHECK(piecewise == want);
      CHECK(magnitudes == scale);
    }
  }
}

TEST_CASE("several time steps at once are as many one by one") {
  for (const char* kernel : {"jacobi2d", "heat3d"}) {
    for (const Step* step : steps_of(kernel)) {
      for (const std::size_t steps : {2, 3, 5}) {
        INFO(step->name << ", steps = " << steps);
        const auto size = [&](std::size_t s) {
          return step->problem->dims().size() == 3 ? Size{41, 250, s} : Size{{130, 31, 12, s}, {0.25f, 0.125f}};
        };
        std::vector<float> in(step->problem->buffers(size(1))[0].count);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(patterns::integers(1, 0, i, in.size()));
        std::vector<float> now = in;  // small integers: no rounding
        for (std::size_t s = 0; s < steps; ++s) now = result(*step, size(1), {now});
        CHECK(result(*step, size(steps), {in}) == now);
      }
    }
  }
}

TEST_CASE("pool2d: windows wholly in the padding have no pixels") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const Step* step : steps_of("pool2d")) {
    if (step->is_vendor()) continue;  // cuDNN refuses such padding
    for (const std::size_t mean : {0, 1}) {
      INFO(step->name << ", mean = " << mean);
      std::vector<float> want(25, mean ? 0.0f : -inf);
      want[12] = -7;
      CHECK(result(*step, {1, 1, 1, 1, 1, 2, mean}, {{-7.0f}}) == want);
      // one window of 2 x 2 with only its corner pixel inside
      CHECK(result(*step, {1, 2, 2, 2, 3, 1, mean}, {{-1.0f, -2.0f, -3.0f, -4.0f}}) == std::vector<float>{-1.0f});
    }
  }
}

TEST_CASE("pool2d: more planes than one row of the grid") {
  constexpr std::size_t planes = (1 << 15) + 1;
  std::vector<float> in(planes);
  for (std::size_t i = 0; i < planes; ++i) in[i] = static_cast<float>(i);
  for (const Step* step : steps_of("pool2d")) {
    if (step->is_vendor()) continue;
    INFO(step->name);
    CHECK((result(*step, {planes, 1, 1, 1, 1, 0, 0}, {in}) == in));
  }
}

TEST_CASE("conv1d_causal: a spike shows the filter forwards in time, and only in its own row") {
  for (const Step* step : steps_of("conv1d_causal")) {
    for (const std::size_t length : {7, 8, 9}) {
      INFO(step->name << ", length = " << length);
      std::vector<float> x(3 * length, 0.0f), want(3 * length);
      x[2 * length - 1] = 1;  // the last element of channel 1
      for (std::size_t i = 0; i < want.size(); ++i) want[i] = static_cast<float>(10 * (i / length));
      want[2 * length - 1] += 4;
      CHECK(result(*step, {1, 3, length, 4}, {x, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, {0, 10, 20}}) == want);
    }
  }
}

TEST_CASE("conv2d_channels: a filter with a single 1 shifts a channel of each image, and lets zeros in") {
  constexpr std::size_t K = 3;
  for (const auto& [N, H, W, C] : std::initializer_list<std::array<std::size_t, 4>>{
           {3, 5, 7, 16}, {2, 1, 9, 10}, {40, 3, 3, 8}, {2, 4, 1, 9}, {3, 5, 7, 12}}) {
    const std::size_t pixels = N * H * W;
    const std::vector<float> in = whole_numbers(pixels * C);
    for (std::size_t tap = 0; tap < 9; ++tap) {
      std::vector<float> filters(K * 9 * C, 0.0f), want(pixels * K, 0.0f);
      for (std::size_t k = 0; k < K; ++k) filters[(k * 9 + tap) * C + C - 1 - k] = 1;
      for (std::size_t o = 0; o < want.size(); ++o) {
        const std::size_t pixel = o / K, row = pixel / W % H + tap / 3 - 1, col = pixel % W + tap % 3 - 1;
        if (row < H && col < W) want[o] = in[((pixel / W / H * H + row) * W + col) * C + C - 1 - o % K];
      }
      for (const Step* step : steps_of("conv2d_channels")) {
        INFO(step->name << ", " << N << " x " << H << " x " << W << " x " << C << ", tap " << tap);
        CHECK(result_in_bf16(*step, {N, H, W, C, K}, {in, filters}) == want);
      }
    }
  }
}

TEST_CASE("a domain without inner cells is copied") {
  const Size flat[] = {{1, 50, 4}, {50, 1, 4}, {2, 60, 3}, {60, 2, 1}};
  const Size box[] = {{{1, 9, 9, 2}, {0.5f, 0.5f}}, {{40, 2, 9, 3}, {0.5f, 0.5f}}, {{40, 9, 2, 2}, {0.5f, 0.5f}}};
  for (const Step& step : steps()) {
    const std::string kernel = step.problem->kernel();
    if (kernel != "jacobi2d" && kernel != "heat3d") continue;
    for (std::size_t k = 0; k < 3; ++k) {
      const Size& size = kernel == "heat3d" ? box[k] : flat[k];
      INFO(step.name << ", " << describe(*step.problem, size));
      const std::vector<float> in = numbers(step.problem->buffers(size)[0].count);
      CHECK(result(step, size, {in}) == in);
    }
  }
}

// Sizes with one side of this length, to compare a kernel's last step with its first.
std::vector<Size> thin_sizes(const std::string& kernel, std::size_t side) {
  if (kernel == "conv2d")
    return {{side, 3, 3}, {3, side, 7}, {side, 41, 5}, {43, side, 7}, {side, 300, 5}, {300, side, 3}};
  if (kernel == "blur") return {{side, 3}, {3, side}, {side, 41}, {43, side}, {side, 1100}, {1100, side}};
  if (kernel == "jacobi2d")
    return {{side, 3, 3}, {3, side, 5}, {side, 41, 2}, {43, side, 4}, {side, 1100, 4}, {1100, side, 4}};
  std::vector<Size> sizes;
  for (const auto& [nx, ny, nz] : std::initializer_list<std::array<std::size_t, 3>>{
           {side, 5, 7}, {5, side, 7}, {5, 7, side}, {side, 3, 120}, {240, side, 4}, {3, 240, side}}) {
    sizes.push_back({{nx, ny, nz, 3}, {0.25f, 0.125f}});
  }
  return sizes;
}

TEST_CASE("thin domains, one side from 1 to 40, aligned and not: the last step is as the first") {
  for (const char* kernel : {"blur", "conv2d", "jacobi2d", "heat3d"}) {
    const Step &first = *steps_of(kernel).front(), &last = *steps_of(kernel).back();
    for (std::size_t side = 1; side <= 40; ++side) {
      for (const Size& size : thin_sizes(kernel, side)) {
        std::vector<std::vector<float>> inputs;
        for (const Buffer& buffer : first.problem->buffers(size)) {
          if (buffer.role != Role::input) continue;
          inputs.emplace_back(buffer.count);
          for (std::size_t i = 0; i < buffer.count; ++i) {  // multiples of 9: nothing is rounded
            inputs.back()[i] = 9 * static_cast<float>(patterns::integers(1, inputs.size(), i, buffer.count));
          }
        }
        const std::vector<float> want = result(first, size, inputs);
        for (const std::size_t offset : {0, 1}) {
          INFO(last.name << ", " << describe(*last.problem, size) << ", offset " << offset);
          CHECK((result(last, size, inputs, offset) == want));
        }
      }
    }
  }
}

TEST_CASE("thin domains: a division by a multiplication is exact") {
  constexpr unsigned most = (1u << 31) - 1;
  for (const unsigned d : {1u, 2u, 3u, 5u, 7u, 9u, 31u, 32u, 33u, 641u, 65535u, 65537u, 1000003u, most / 2,
                           most / 2 + 1, most / 2 + 2, most - 1, most, most + 1}) {
    const Divisor<unsigned> divisor(d);
    std::vector<unsigned> numbers = {0, 1, d - 1, most - 1, most, most / d * d, most / d * d - 1};
    for (unsigned k = 1; k < 1000; ++k) {
      const unsigned multiple = static_cast<unsigned>(std::uint64_t{most} * k / 1000 / d * d);
      numbers.insert(numbers.end(), {multiple, multiple + d - 1, multiple - 1});
    }
    for (const unsigned n : numbers) {
      if (n > most || divisor.quotient(n) == n / d) continue;
      FAIL_CHECK(n << " / " << d << " gave " << divisor.quotient(n));
    }
  }
}

TEST_CASE("thin domains: 64-bit indices from where 32 bits end") {
  const std::size_t most = std::size_t{1} << 31;
  for (const std::size_t cells : {std::size_t{1}, std::size_t{1024}, std::size_t{1025}, most, most + 1, 3 * most}) {
    launch_thin(cells, [&](unsigned blocks, auto index) {
      CAPTURE(cells);
      CHECK(sizeof index == (cells <= most ? 4 : 8));
      CHECK(blocks == ceil_div(cells, 1024));
      const Divisor<decltype(index)> three(3);
      CHECK(three.quotient(static_cast<decltype(index)>(cells - 1)) == (cells - 1) / 3);
    });
  }
}

TEST_CASE("thin domains: the share of a tile's work that counts") {
  CHECK(tile_share(120, 120, 128) == 120.0 / 128);
  CHECK(tile_share(121, 120, 128) == 121.0 / 256);
  CHECK(tile_share(1, 512, 512) == 1.0 / 512);
  CHECK(tile_share(std::size_t{1} << 31, 16, 16) == 1);
}

TEST_CASE("few rows: the height of tiles that reads the fewest rows") {
  const auto conv2d = [](std::size_t rows) { return tile_height(rows, 4, {24, 16, 8}); };
  CHECK(conv2d(1) == 8);
  CHECK(conv2d(8) == 8);
  CHECK(conv2d(9) == 16);
  CHECK(conv2d(16) == 16);
  CHECK(conv2d(17) == 24);
  CHECK(conv2d(24) == 24);
  CHECK(conv2d(25) == 16);  // two tiles that read 20 rows each, not 28
  CHECK(conv2d(1 << 20) == 24);
  CHECK(tile_height(8, 2, {16, 4}) == 4);
  CHECK(tile_height(9, 2, {16, 4}) == 16);  // equal: the first
}

TEST_CASE("large and small in turn: no scratch memory is too small") {
  for (const char* kernel : {"jacobi2d", "blur"}) {
    for (const Step* step : steps_of(kernel)) {
      for (const std::size_t rows : {3, 200, 5}) {
        INFO(step->name << ", rows = " << rows);
        const Size size = step->problem->dims().size() == 3 ? Size{rows, 64, 9} : Size{rows, 64};
        const std::vector<float> in(rows * 64, 9.0f);
        CHECK(result(*step, size, {in}) == in);
      }
    }
  }
}
