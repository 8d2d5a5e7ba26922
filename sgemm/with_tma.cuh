// A product whose step copies its matrices by TMA.
#pragma once
#include "tensor_map.cuh"

// Adds a remark where a step must copy A or B, or store C by threads, because TMA does not support their rows.
template <typename Problem, typename T, bool kStoresC = false>
class WithTma : public Problem {
 public:
  using Problem::Problem;
  std::string remark(const ladder::Arrays& device, const ladder::Size& size) const override {
    std::string said = copies(device, size);
    if (kStoresC && !tma_stores(device.at<const T>(2), size[1], Problem::ldc(size))) {
      said += std::string(said.empty() ? "" : "; ") + "C stored by threads: TMA needs rows of whole 16-byte chunks";
    }
    return said;
  }

 protected:
  static std::string copies(const ladder::Arrays& device, const ladder::Size& size) {
    std::string copied;
    if (!tma_takes(device.at<const T>(0), Problem::lda(size))) copied = "A";
    if (!tma_takes(device.at<const T>(1), Problem::ldb(size))) copied += copied.empty() ? "B" : " and B";
    return copied.empty() ? "" : copied + " copied to 16-byte aligned rows first, which TMA needs";
  }
};
