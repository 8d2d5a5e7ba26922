// What the top steps of gemm_bf16 and sgemm_tf32 share: large products on wgmma, all others on mma.sync and without
// tensor cores.
#pragma once
#include "mma_by_shape.cuh"
#include "with_tma.cuh"

template <typename T>
GemmKernel gemm_kernel_sm90(std::size_t M, std::size_t N, std::size_t K, const T* A, std::size_t lda, const T* B,
                            std::size_t ldb, const T* C, std::size_t ldc) {
  return gemm_kernel_sm90(M, N, K, sizeof(T), tma_takes(A, lda), tma_takes(B, ldb), tma_takes(C, ldc), sm_count());
}

// Says what TMA does not take only where TMA is wanted.
template <typename Problem, typename T, bool kStoresC = false>
class BySize : public WithTma<Problem, T, kStoresC> {
 public:
  using WithTma<Problem, T, kStoresC>::WithTma;
  std::string remark(const ladder::Arrays& device, const ladder::Size& size) const override {
    const GemmKernel kernel =
        gemm_kernel_sm90(size[0], size[1], size[2], device.at<const T>(0), Problem::lda(size), device.at<const T>(1),
                         Problem::ldb(size), device.at<const T>(2), Problem::ldc(size));
    if (kernel == GemmKernel::wgmma) return WithTma<Problem, T, kStoresC>::remark(device, size);
    return kernel == GemmKernel::wgmma_split_k ? this->copies(device, size) : "";
  }
};
