// The library: cublasLtMatmul on int8, for n that are multiples of 4. It has one factor per product, so it stores int32
// sums in C's memory, and a second kernel scales them there. product_us is the time of the product alone.
// needs: gpu
// links: cublas
// links: cublasLt
#include "gemm_int8.cuh"
#include "../lt_product.cuh"

// Stores the sums, in int32, in C's memory.
static void multiply(const std::int8_t* A, const std::int8_t* B, float* C, std::size_t m, std::size_t n,
                     std::size_t k) {
  if (k == 0) {
    CUDA_CHECK(cudaMemsetAsync(C, 0, m * n * sizeof(float)));
    return;
  }
  const LtTypes types = {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
  multiply_by_cublaslt(types, A, B, C, m, n, k, std::int32_t{1}, std::int32_t{0}, [](cublasLtMatmulDesc_t) {});
}

// Turns C's int32 sums into FP32 results. A block scales rows, a thread four columns at a time: n is a multiple of 4.
template <bool kAligned>
__global__ static void gemm_int8_scale(float* __restrict__ C, const float* __restrict__ row_scales,
                                       const float* __restrict__ column_scales, std::size_t m, std::size_t n) {
  for (std::size_t row = blockIdx.x; row < m; row += gridDim.x) {
    const float scale = row_scales[row];
    for (std::size_t col = 4 * threadIdx.x; col < n; col += 4 * blockDim.x) {
      const auto scaled = [=](float sum, float of_column) {
        return static_cast<float>(__float_as_int(sum)) * scale * of_column;
      };
      float* c = &C[row * n + col];
      const float* s = &column_scales[col];
      if constexpr (kAligned) {
        auto& sums = *reinterpret_cast<float4*>(c);
        const float4 v = sums, scales = *reinterpret_cast<const float4*>(s);
        sums = {scaled(v.x, scales.x), scaled(v.y, scales.y), scaled(v.z, scales.z), scaled(v.w, scales.w)};
      } else {
        for (int x = 0; x < 4; ++x) c[x] = scaled(c[x], s[x]);
      }
    }
  }
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t m, std::size_t n, std::size_t k) {
  if (m == 0 || n == 0) return;
  multiply(A, B, C, m, n, k);
  const auto kernel = aligned_for<float4>(C, column_scales) ? gemm_int8_scale<true> : gemm_int8_scale<false>;
  kernel<<<static_cast<unsigned>(std::min<std::size_t>(m, 1 << 16)), 256>>>(C, row_scales, column_scales, m, n);
  CUDA_CHECK(cudaGetLastError());
}

// Keeps the stream busy while the host queues what is timed.
__global__ static void hold(long long clocks) {
  for (const long long begin = clock64(); clock64() - begin < clocks;) {
  }
}

class OfCublasLt : public GemmInt8 {
 public:
  using GemmInt8::GemmInt8;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[1] % 4 != 0) throw ladder::UsageError("--n: cuBLASLt's int8 kernels take multiples of 4");
    return GemmInt8::buffers(size);
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(GemmInt8::test_sizes()); }

  // Returns the mean time of 20 products, which are queued before the first begins: it includes no call on the host.
  std::vector<ladder::Figure> figures(const ladder::Arrays& device, const ladder::Size& size) const override {
    constexpr int kProducts = 20;
    cudaEvent_t begin = nullptr, end = nullptr;
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
    hold<<<1, 1>>>(2'000'000);  // a millisecond
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(begin));
    for (int i = 0; i < kProducts; ++i) {
      multiply(device.at<const std::int8_t>(0), device.at<const std::int8_t>(1), device.at<float>(4), size[0], size[1],
               size[2]);
    }
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
    CUDA_CHECK(cudaEventDestroy(begin));
    CUDA_CHECK(cudaEventDestroy(end));
    return {{"product_us", 1e3 * static_cast<double>(ms) / kProducts}};
  }
};

LADDER_STEP(OfCublasLt, launch);
