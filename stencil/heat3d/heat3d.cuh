// Time steps of the heat equation in 3D.
// `steps` explicit time steps on nx x ny x nz cells. In each step a cell becomes c0 times itself plus c1 times the sum
// of its six direct neighbours, all from the previous step. Cells at the border keep their value. c1 = 1/8 is stable.
// practice: medium, next histogram
#pragma once
#include "../time_steps.cuh"

// Returns how many planes a block should march along z, if `tiles` columns of nz planes run on a device that holds
// `resident` blocks. A march of d planes takes the time of d + extra planes. Few long marches leave SMs idle, many
// short marches spend their time on `extra`, and a nearly empty last wave costs as much as a full one.
inline std::size_t march_depth(std::size_t nz, std::size_t tiles, std::size_t resident, std::size_t extra) {
  std::size_t best = nz, least = ceil_div(tiles, resident) * (nz + extra);
  for (std::size_t waves = 1; waves <= 8; ++waves) {
    const std::size_t depth = ceil_div(nz, std::max<std::size_t>(waves * resident / tiles, 1));
    const std::size_t time = ceil_div(tiles * ceil_div(nz, depth), resident) * (depth + extra);
    if (time < least) best = depth, least = time;
  }
  return best;
}

class Heat3d : public TimeSteps {
 public:
  // Cell (x, y, z) of both arrays is at [(z * ny + y) * nx + x]. They don't overlap and need not be 16-byte aligned;
  // `in` isn't changed. Does nothing if nx, ny or nz is 0.
  using Launch = void (*)(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz,
                          std::size_t steps, float c0, float c1);

  // tile_y, tile_z: for a step with one block in gridDim.y per tile_y rows and in gridDim.z per tile_z planes.
  explicit Heat3d(Launch launch, std::size_t tile_y = 0, std::size_t tile_z = 0)
      : launch_(launch), tile_y_(tile_y), tile_z_(tile_z) {}

  const char* kernel() const override { return "heat3d"; }
  // steps = 0 means 2.
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = 1 << 20;
    return {{"nx", 512, 100, most}, {"ny", 512, 40, most}, {"nz", 512, 30, most}, {"steps", 0, 0, 1000}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"c0", 0.25f}, {"c1", 0.125f}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (tile_y_) ladder::require_grid_y("ny", size[1], tile_y_);
    if (tile_z_ && size[2] > 65535 * tile_z_) {
      throw ladder::UsageError("--nz: this step takes at most " + std::to_string(65535 * tile_z_) +
                               ", 65535 blocks of " + std::to_string(tile_z_) + " in gridDim.z");
    }
    return TimeSteps::buffers(size);
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1], size[2], steps(size), size.scalars[0],
            size.scalars[1]);
  }

  // In one time step a value is rounded at most 7 times: 5 additions, a product, the addition of c0 times the cell.
  // So the error is at most gamma_(7 s) times the result for the magnitudes, gamma_n = n u / (1 - n u) (Higham,
  // Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).
  double tolerance(const ladder::Size& size) const override {
    const double nu = 7.0 * static_cast<double>(steps(size)) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }
  // If c0 and c1 are multiples of 1/8, integers up to 4 become multiples of 8^-s, and their sums must fit in 24 bits.
  bool exact(const ladder::Size& size) const override {
    const double c0 = size.scalars[0], c1 = size.scalars[1];
    const auto eighths = [](double v) { return v >= 0 && v <= 1 && 8 * v == std::floor(8 * v); };
    const double growth = std::max(1.0, c0 + 6 * c1), s = static_cast<double>(steps(size));
    return eighths(c0) && eighths(c1) && 6 * 4 * std::pow(8 * growth, s) <= 1 << 24;
  }

  // empty, no inner cell, single lines and planes, one inner cell, around tile sizes (32, 120, 128, 256 along x; 8, 20,
  // 24 along y) and marches (8, 24, 128), all remainders modulo 4; 1 to 5 steps; other coefficients
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const ladder::Size& s : std::initializer_list<ladder::Size>{
             {0, 0, 0, 1},    {0, 3, 3, 2},    {3, 0, 3, 2},    {3, 3, 0, 1},    {1, 1, 1, 1},     {2, 2, 2, 2},
             {3, 3, 3, 1},    {3, 3, 3, 2},    {4, 4, 4, 2},    {1, 1, 20, 2},   {1, 40, 1, 2},    {257, 1, 1, 2},
             {64, 33, 2, 2},  {64, 2, 12, 2},  {2, 33, 9, 2},   {3, 9, 18, 2},   {9, 3, 17, 3},    {33, 9, 3, 1},
             {32, 8, 5, 1},   {34, 10, 6, 2},  {31, 7, 4, 1},   {33, 9, 5, 4},   {5, 19, 4, 2},    {6, 20, 5, 2},
             {7, 21, 4, 2},   {8, 24, 5, 2},   {4, 25, 4, 3},   {12, 41, 4, 2},  {119, 5, 4, 2},   {120, 6, 5, 2},
             {121, 4, 6, 2},  {124, 5, 5, 2},  {128, 7, 4, 2},  {129, 5, 5, 1},  {132, 6, 4, 5},   {248, 4, 4, 2},
             {252, 5, 4, 2},  {16, 12, 35, 2}, {8, 6, 131, 2},  {12, 5, 33, 2},  {7, 4, 65, 2},    {119, 20, 9, 1},
             {120, 20, 4, 3}, {116, 19, 6, 2}, {118, 39, 5, 2}, {240, 20, 7, 5}, {241, 20, 13, 2}, {117, 41, 13, 3},
             {260, 9, 25, 2}, {256, 8, 24, 2}, {253, 17, 9, 2}, {131, 8, 16, 2}}) {
      sizes.push_back({{s[0], s[1], s[2], s[3]}, {0.25f, 0.125f}});
    }
    sizes.push_back({{37, 11, 7, 2}, {0, 0.3f}});
    sizes.push_back({{36, 11, 7, 2}, {-0.7f, -1.1f}});
    sizes.push_back({{100, 61, 25, 0}, {0.4f, 0.1f}});
    return sizes;
  }
  // more than 2^31 cells; more than 65535 * 8 planes, left out if the step refuses them
  std::vector<ladder::Size> huge_sizes() const override {
    const ladder::Size cells = {{1028, 1033, 2049, 2}, {0.25f, 0.125f}}, planes = {{5, 7, 1 << 20, 1}, {0.25f, 0.125f}};
    return tile_z_ ? std::vector<ladder::Size>{cells} : std::vector<ladder::Size>{cells, planes};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{{512, 512, 512, 2}, {0.25f, 0.125f}},
            {{256, 256, 256, 2}, {0.25f, 0.125f}},
            {{1024, 1024, 256, 2}, {0.25f, 0.125f}},
            {{511, 513, 512, 2}, {0.25f, 0.125f}}};
  }
  double flops(const ladder::Size& size) const override {
    return 8.0 * static_cast<double>(cells(size)) * static_cast<double>(steps(size));
  }

 protected:
  Domain domain(const ladder::Size& size) const override {
    return {size[0], size[1], size[2], false, size.scalars[0], size.scalars[1]};
  }
  std::size_t steps(const ladder::Size& size) const override { return size[3] ? size[3] : 2; }

 private:
  Launch launch_;
  std::size_t tile_y_, tile_z_;
};
