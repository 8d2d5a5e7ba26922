// Problem:  step 03 computes hitRatio. What if it is left at 1, and the table is larger than the part set aside?
// Idea:     thrashing: with hitRatio 1 all lines of the table persist, and evict each other. The figures hit_25_us to
//           hit_100_us sweep the ratio, with room for half of the table.
// Expect:   0.8 to 1.0x step 03 at m=12582912, 1.0x with 8 MB. In the sweep 50 is fastest there: 25 leaves room unused,
//           75 and 100 ask for more than there is. A table that fits L2 anyway is fastest with 100.
// Measured: 0.88x step 03, 0.34 of a copy at m=12582912 (H200); 0.84x, 0.27 (H100).
// Next:     which lines persist, if hitRatio is 0.5?
// needs: gpu
#include "../host_timing.cuh"
#include "l2_window.cuh"
#include "set_aside.cuh"

__global__ void l2_hit_ratio(const float* __restrict__ x, const float* __restrict__ table, float* __restrict__ y,
                             std::size_t n, std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + table[slot(i, m)];
}

static void look_up(const float* x, const float* table, float* y, std::size_t n, std::size_t m, float hit_ratio) {
  const std::size_t bytes =
      std::min<std::size_t>(m * sizeof(float), device_attribute(cudaDevAttrMaxAccessPolicyWindowSize));

  cudaLaunchAttribute window = {};
  window.id = cudaLaunchAttributeAccessPolicyWindow;
  window.val.accessPolicyWindow.base_ptr = const_cast<float*>(table);
  window.val.accessPolicyWindow.num_bytes = bytes;
  window.val.accessPolicyWindow.hitRatio = hit_ratio;
  window.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ceil_div(n, 256));
  config.blockDim = dim3(256);
  config.attrs = &window;
  config.numAttrs = bytes > 0 ? 1 : 0;  // the window needs sm_80
  CUDA_CHECK(cudaLaunchKernelEx(&config, l2_hit_ratio, x, table, y, n, m));
}

static void launch(const float* x, const float* table, float* y, std::size_t n, std::size_t m) {
  if (n == 0) return;
  set_aside(m * sizeof(float));
  look_up(x, table, y, n, m, 1.0f);
}

class HitRatio : public L2Window {
 public:
  HitRatio() : L2Window(launch) {}
  std::size_t persisting_bytes(const ladder::Size& size) const override { return size[1] * sizeof(float); }
  std::vector<ladder::Figure> figures(const ladder::Arrays& device, const ladder::Size& size) const override {
    const std::size_t half = size[1] * sizeof(float) / 2;
    if (size[0] == 0 || half == 0 || set_aside(half) < half) return {};
    std::vector<ladder::Figure> all;
    for (const auto& [name, ratio] :
         {std::pair{"hit_25_us", 0.25f}, {"hit_50_us", 0.5f}, {"hit_75_us", 0.75f}, {"hit_100_us", 1.0f}}) {
      const double us = median_us([] { CUDA_CHECK(cudaCtxResetPersistingL2Cache()); },
                                  [&, hit_ratio = ratio] {
                                    look_up(device.at<const float>(0), device.at<const float>(1), device.at<float>(2),
                                            size[0], size[1], hit_ratio);
                                  });
      all.push_back({name, us});
    }
    return all;
  }
};

LADDER_STEP(HitRatio);
