// The library: cublasLtMatmul on e4m3 with its scales per matrix and fast accumulation: the tensor core alone adds, as
// in step 03, and before Hopper in step 02. n must be a multiple of 16. If C isn't 16-byte aligned, the result is
// copied to it.
// needs: gpu
// needs: sm_89
// links: cublas
// links: cublasLt
#include "gemm_fp8.cuh"
#include "../lt_product.cuh"

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t m, std::size_t n, std::size_t k) {
  if (m == 0 || n == 0) return;
  const std::size_t bytes = m * n * sizeof(float);
  if (k == 0) {  // a product of zeros, so that a NaN in a scale shows
    k = 16;
    auto* zeros = scratch<std::uint8_t, struct Zeros>((m + n) * k);
    CUDA_CHECK(cudaMemsetAsync(zeros, 0, (m + n) * k));
    A = B = zeros;
  }
  float* D = aligned_for<uint4>(C) ? C : scratch<float, struct AlignedC>(m * n);
  const LtTypes types = {CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  multiply_by_cublaslt(types, A, B, D, m, n, k, 1.0f, 0.0f, [&](cublasLtMatmulDesc_t operation) {
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, b_scales);  // its A is our B
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, a_scales);
  });
  if (D != C) CUDA_CHECK(cudaMemcpyAsync(C, D, bytes, cudaMemcpyDeviceToDevice));
}

class OfCublasLt : public GemmFp8 {
 public:
  using GemmFp8::GemmFp8;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[1] % 16 != 0) throw ladder::UsageError("--n: cuBLASLt's FP8 kernels take multiples of 16");
    return GemmFp8::buffers(size);
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(GemmFp8::test_sizes()); }
};

LADDER_STEP(OfCublasLt, launch);
