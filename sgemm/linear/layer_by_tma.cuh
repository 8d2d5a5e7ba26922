// A layer whose step copies A and W by TMA.
#pragma once
#include "tensor_map.cuh"

#include <cuda_bf16.h>

// Adds a remark where a step must copy A or W, or store C by threads, because TMA does not support their rows.
template <typename Problem, bool kStoresC>
class LayerByTma : public Problem {
 public:
  using Problem::Problem;
  std::string remark(const ladder::Arrays& device, const ladder::Size& size) const override {
    const auto takes = [&](std::size_t buffer) {
      return tma_takes(device.at<const __nv_bfloat16>(buffer), this->shape(size).k);
    };
    std::string said;
    if (!takes(0)) said = "A";
    if (!takes(1)) said += said.empty() ? "W" : " and W";
    if (!said.empty()) said += " copied to 16-byte aligned rows first, which TMA needs";
    const std::size_t n = this->shape(size).n;
    if (kStoresC && !tma_stores(device.at<const __nv_bfloat16>(3), n, n)) {
      said += std::string(said.empty() ? "" : "; ") + "C stored by threads: TMA needs rows of whole 16-byte chunks";
    }
    return said;
  }
};
