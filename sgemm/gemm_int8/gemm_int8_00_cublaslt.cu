// The library: cublasLtMatmul on int8, for n that are multiples of 4. It has one factor for a whole product, so it stores
// int32 sums in C's memory, and a kernel of ours scales them there. product_us is the time of the product alone.
// needs: gpu
// links: cublas
// links: cublasLt
#include "gemm_int8.cuh"
#include "../lt_product.cuh"

// The sums, in int32, go to C's memory.
static void multiply(const std::int8_t* A, const std::int8_t* B, float* C, std::size_t m, std::size_t n,
                     std::size_t k) {
  if (k == 0) {
    CUDA_CHECK(cudaMemsetAsync(C, 0, m * n * sizeof(float)));
    return;
  }
  const LtTypes types = {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
  multiply_by_cublaslt(types, A, B, C, m, n, k, std::int32_t{1}, std::int32_t{0}, [](cublasLtMatmulDesc_t) {});
}

// C has int32 sums before, FP32 results after.
__global__ static void gemm_int8_scale(float* __restrict__ C, const float* __restrict__ row_scales,
                                       const float* __restrict__ column_scales, std::size_t m, std::size_t n) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < m * n; i += step) {
    C[i] = static_cast<float>(__float_as_int(C[i])) * row_scales[i / n] * column_scales[i % n];
  }
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t m, std::size_t n, std::size_t k) {
  if (m == 0 || n == 0) return;
  multiply(A, B, C, m, n, k);
  const std::size_t blocks = std::min<std::size_t>(ceil_div(m * n, std::size_t{256}), 1 << 16);
  gemm_int8_scale<<<static_cast<unsigned>(blocks), 256>>>(C, row_scales, column_scales, m, n);
  CUDA_CHECK(cudaGetLastError());
}

class OfCublasLt : public GemmInt8 {
 public:
  using GemmInt8::GemmInt8;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[1] % 4 != 0) throw ladder::UsageError("--n: cuBLASLt's int8 kernels take multiples of 4");
    return GemmInt8::buffers(size);
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(GemmInt8::test_sizes()); }

  // Medians of 21 runs back to back, with L2 as the run before left it.
  std::vector<ladder::Figure> figures(const ladder::Arrays& device, const ladder::Size& size) const override {
    cudaEvent_t begin = nullptr, end = nullptr;
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
    std::vector<float> ms(21);
    for (float& of_run : ms) {
      CUDA_CHECK(cudaEventRecord(begin));
      multiply(device.at<const std::int8_t>(0), device.at<const std::int8_t>(1), device.at<float>(4), size[0], size[1],
               size[2]);
      CUDA_CHECK(cudaEventRecord(end));
      CUDA_CHECK(cudaEventSynchronize(end));
      CUDA_CHECK(cudaEventElapsedTime(&of_run, begin, end));
    }
    CUDA_CHECK(cudaEventDestroy(begin));
    CUDA_CHECK(cudaEventDestroy(end));
    std::sort(ms.begin(), ms.end());
    return {{"product_us", 1e3 * static_cast<double>(ms[ms.size() / 2])}};
  }
};

LADDER_STEP(OfCublasLt, launch);
