// The library: cublasLtMatmul on e4m3 with scales per 128 of k, since CUDA 12.9 and for Hopper only. In its layout A's
// scales of neighbouring rows are adjacent, and B's are in rows padded to a multiple of four. A kernel copies both, and
// its time counts. If m isn't a multiple of 4, rows are added in copies of A and C. n must be a multiple of 16.
// needs: gpu
// needs: sm_90a
// needs: cuda_12.9
// links: cublas
// links: cublasLt
#include "gemm_fp8_blocks.cuh"
#include "../lt_product.cuh"

constexpr LtTypes kTypes = {CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};

// The operation's A is our B, with a scale per 128 x 128; its B is our A, with a scale per row and 128 k.
struct BlockScales {
  const float *a, *b;
  void operator()(cublasLtMatmulDesc_t operation) const {
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, std::int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F});
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, std::int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F});
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, a);
  }
};

// Copies scale (row, block) to row * row_stride + block * block_stride.
__global__ static void copy_scales(const float* __restrict__ from, std::size_t count, std::size_t blocks,
                                   float* __restrict__ to, std::size_t row_stride, std::size_t block_stride) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i / blocks * row_stride + i % blocks * block_stride] = from[i];
}

template <typename Tag>
static const float* copied_scales(const float* from, std::size_t rows, std::size_t blocks, std::size_t elements,
                                  std::size_t row_stride, std::size_t block_stride) {
  float* to = scratch<float, Tag>(elements);
  const std::size_t count = rows * blocks;
  copy_scales<<<static_cast<unsigned>(ceil_div(count, std::size_t{256})), 256>>>(from, count, blocks, to, row_stride,
                                                                                 block_stride);
  CUDA_CHECK(cudaGetLastError());
  return to;
}

static std::size_t in_whole(std::size_t count, std::size_t n) { return ceil_div(n, count) * count; }

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t m, std::size_t n, std::size_t k) {
  const std::size_t bytes = m * n * sizeof(float), rows = in_whole(4, m), blocks = ceil_div(k, std::size_t{128});
  if (m == 0 || n == 0) return;
  if (k == 0) {
    CUDA_CHECK(cudaMemsetAsync(C, 0, bytes));
    return;
  }
  const std::size_t columns = ceil_div(n, std::size_t{128}), pitch = in_whole(4, blocks);
  const BlockScales scales = {copied_scales<struct ScalesOfA>(a_scales, m, blocks, rows * blocks, 1, rows),
                              copied_scales<struct ScalesOfB>(b_scales, columns, blocks, columns * pitch, pitch, 1)};
  if (rows != m) {  // what the added rows hold doesn't matter: their results are dropped
    auto* more = scratch<std::uint8_t, struct MoreRows>(rows * k);
    CUDA_CHECK(cudaMemcpyAsync(more, A, m * k, cudaMemcpyDeviceToDevice));
    CUDA_CHECK(cudaMemsetAsync(more + m * k, 0, (rows - m) * k));
    A = more;
  }
  float* D = aligned_for<uint4>(C) && rows == m ? C : scratch<float, struct ResultD>(rows * n);
  multiply_by_cublaslt(kTypes, A, B, D, rows, n, k, 1.0f, 0.0f, scales);
  if (D != C) CUDA_CHECK(cudaMemcpyAsync(C, D, bytes, cudaMemcpyDeviceToDevice));
}

class OfCublasLt : public GemmFp8Blocks {
 public:
  using GemmFp8Blocks::GemmFp8Blocks;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t m = in_whole(4, size[0]), n = size[1], k = in_whole(16, size[2]);
    if (n % 16 != 0) throw ladder::UsageError("--n: cuBLASLt's FP8 kernels take multiples of 16");
    const float* any = scratch<float, struct ScalesOfA>(4);  // the library only checks that there are scales
    if (m * n * k > 0 && !lt_plan(kTypes, m, n, k, {16, 16, 16}, BlockScales{any, any}).has_kernel) {
      throw ladder::UsageError("--m, --n, --k: cuBLASLt has no kernel with scales per block for this product");
    }
    return GemmFp8Blocks::buffers(size);
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(GemmFp8Blocks::test_sizes()); }
  double scratch_bytes(const ladder::Size& size) const override {  // and A with more rows
    return GemmFp8Blocks::scratch_bytes(size) + static_cast<double>(size[0] + 3) * static_cast<double>(size[2]);
  }
};

LADDER_STEP(OfCublasLt, launch);
