// Time steps of a stencil of radius 1, for heat3d and jacobi2d. Cells at the border keep their value (Dirichlet).
// bytes() counts one read and one write of the domain per time step, even if a launch computes several. So one time
// step per launch is at best as fast as a copy, unless both buffers fit in L2.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <cmath>

// Calls pass(from, to) `passes` times on buffers of `count` floats. The first pass reads `in`, each later one reads the
// result of the previous one, and the last pass writes `out`. With 0 passes `out` becomes a copy of `in`. The second
// buffer is scratch memory, shared by all streams: use it in one stream only.
template <typename Pass>
void ping_pong(const float* in, float* out, std::size_t count, std::size_t passes, const Pass& pass) {
  if (passes == 0) CUDA_CHECK(cudaMemcpyAsync(out, in, count * sizeof(float), cudaMemcpyDeviceToDevice));
  float* other = passes > 1 ? scratch<float>(count) : nullptr;
  for (; passes > 0; --passes) {
    float* to = passes % 2 == 1 ? out : other;
    pass(in, to);
    in = to;
  }
}

// A domain of nx x ny x nz cells; neighbours along x are adjacent in memory. A time step computes
// new = centre * old + side * (sum of the direct neighbours). A flat domain has nz = 1, no neighbours or borders along
// z, and no term for the cell itself.
struct Domain {
  std::size_t nx, ny, nz;
  bool flat;
  double centre, side;

  // Returns true if the row is at the border. Rows are numbered through all planes.
  bool border_row(std::size_t row) const {
    const std::size_t y = row % ny, z = row / ny;
    return y == 0 || y + 1 == ny || (!flat && (z == 0 || z + 1 == nz));
  }
};

// The reference: computes cells [begin, end) after `steps` time steps in double, and the same steps on the magnitudes.
// It computes only the rows needed, and for a range within one row only the columns needed. A range shorter than a row
// that spans two rows is split.
inline void time_steps(const float* in, const Domain& domain, std::size_t steps, std::size_t begin, std::size_t end,
                       double* want, double* scale) {
  if (begin == end) return;
  const std::size_t nx = domain.nx, first = begin / nx, last = (end - 1) / nx;
  const bool single = first == last;
  if (!single && end - begin < nx) {
    const std::size_t cut = last * nx;
    time_steps(in, domain, steps, begin, cut, want, scale);
    time_steps(in, domain, steps, cut, end, want + (cut - begin), scale + (cut - begin));
    return;
  }
  const std::size_t left = single ? begin - std::min(begin - first * nx, steps) - first * nx : 0;
  const std::size_t right = single ? std::min(end - first * nx + steps, nx) : nx;
  const std::size_t width = right - left;

  // rows needed at each time step: those of the next one, and the neighbours of those not at the border
  std::vector<std::vector<std::size_t>> rows(steps + 1);
  for (std::size_t row = first; row <= last; ++row) rows[steps].push_back(row);
  for (std::size_t t = steps; t > 0; --t) {
    std::vector<std::size_t>& need = rows[t - 1];
    for (const std::size_t row : rows[t]) {
      need.push_back(row);
      if (domain.border_row(row)) continue;
      need.insert(need.end(), {row - 1, row + 1});
      if (!domain.flat) need.insert(need.end(), {row - domain.ny, row + domain.ny});
    }
    std::sort(need.begin(), need.end());
    need.erase(std::unique(need.begin(), need.end()), need.end());
  }

  struct Cell {
    double value, magnitude;
  };
  std::vector<Cell> now(rows[0].size() * width), before;
  for (std::size_t r = 0; r < rows[0].size(); ++r) {
    for (std::size_t x = 0; x < width; ++x) {
      const double value = in[rows[0][r] * nx + left + x];
      now[r * width + x] = {value, std::fabs(value)};
    }
  }
  for (std::size_t t = 1; t <= steps; ++t) {
    before.swap(now);
    now.resize(rows[t].size() * width);
    const auto old = [&](std::size_t row) {
      return &before[(std::lower_bound(rows[t - 1].begin(), rows[t - 1].end(), row) - rows[t - 1].begin()) * width];
    };
    const double c = domain.centre, s = domain.side;
    for (std::size_t r = 0; r < rows[t].size(); ++r) {
      const std::size_t row = rows[t][r];
      const Cell* here = old(row);
      Cell* to = &now[r * width];
      std::copy(here, here + width, to);
      if (domain.border_row(row)) continue;
      const Cell *south = old(row - 1), *north = old(row + 1);
      const Cell* below = domain.flat ? nullptr : old(row - domain.ny);
      const Cell* above = domain.flat ? nullptr : old(row + domain.ny);
      for (std::size_t x = 1; x + 1 < width; ++x) {  // the outer columns are a border, or not used
        double sum = here[x - 1].value + here[x + 1].value + south[x].value + north[x].value;
        double all = here[x - 1].magnitude + here[x + 1].magnitude + south[x].magnitude + north[x].magnitude;
        if (!domain.flat) sum += below[x].value + above[x].value, all += below[x].magnitude + above[x].magnitude;
        to[x] = {s * sum, std::fabs(s) * all};
        if (!domain.flat) to[x].value += c * here[x].value, to[x].magnitude += std::fabs(c) * here[x].magnitude;
      }
    }
  }
  for (std::size_t i = begin; i < end; ++i) {
    const Cell& cell = now[(i / nx - first) * width + i % nx - left];
    want[i - begin] = cell.value;
    scale[i - begin] = cell.magnitude;
  }
}

class TimeSteps : public ladder::Problem {
 public:
  const char* family() const override { return "stencil"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("in", cells(size)), ladder::output<float>("out", cells(size))};
  }
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"NaN in the middle", false, nan_in_middle},
            {"one infinity", false, one_infinity}};
  }
  // scale = the same time steps on the magnitudes
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    time_steps(host.at<const float>(0), domain(size), steps(size), range.begin, range.end, want, scale);
  }
  double bytes(const ladder::Size& size) const override {
    return 2.0 * sizeof(float) * static_cast<double>(cells(size)) * static_cast<double>(steps(size));
  }
  // ping_pong's second buffer
  double scratch_bytes(const ladder::Size& size) const override {
    return sizeof(float) * static_cast<double>(cells(size));
  }

 protected:
  virtual Domain domain(const ladder::Size& size) const = 0;
  virtual std::size_t steps(const ladder::Size& size) const = 0;
  std::size_t cells(const ladder::Size& size) const {
    const Domain d = domain(size);
    return d.nx * d.ny * d.nz;
  }

 private:
  static double nan_in_middle(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double one_infinity(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 3 ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }
};
