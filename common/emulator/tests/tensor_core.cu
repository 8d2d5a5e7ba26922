// Tensor cores: the fragments of mma.sync and ldmatrix, the functions of mma.h, and how a tensor core adds.
#include "support.cuh"
#include "tensor_core_8bit.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cmath>
#include <limits>

namespace {

using namespace nvcuda;

// Row r of matrix i is row 8 i + r of `in`, which has 8 columns.
template <bool transposed>
__global__ void load(const unsigned short* in, unsigned* out) {
  __shared__ uint4 rows[32];
  const unsigned lane = threadIdx.x;
  rows[lane] = reinterpret_cast<const uint4*>(in)[lane];
  __syncthreads();
  unsigned matrices[4];
  if (transposed) {
    ldmatrix_x4_trans(matrices, &rows[lane]);
  } else {
    ldmatrix_x4(matrices, &rows[lane]);
  }
  for (unsigned i = 0; i < 4; ++i) out[lane * 4 + i] = matrices[i];
}

__device__ unsigned pair(const __nv_bfloat16* low, const __nv_bfloat16* high) {
  return __bfloat16_as_ushort(*low) | static_cast<unsigned>(__bfloat16_as_ushort(*high)) << 16;
}

// D = A B + D, A 16 x 16, B 16 x 8, row-major. Each lane computes its elements' positions by the manual's formulas.
__global__ void multiply_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, float* D) {
  const unsigned group = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned a[4];
  for (unsigned i = 0; i < 4; ++i) {
    const __nv_bfloat16* p = A + (group + i % 2 * 8) * 16 + t * 2 + i / 2 * 8;
    a[i] = pair(p, p + 1);
  }
  const auto b = [&](unsigned i) { return pair(B + (t * 2 + i * 8) * 8 + group, B + (t * 2 + i * 8 + 1) * 8 + group); };
  float d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = D[(group + i / 2 * 8) * 8 + t * 2 + i % 2];
  mma_m16n8k16_bf16(d, a, b(0), b(1));
  for (unsigned i = 0; i < 4; ++i) D[(group + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

// The same for A 16 x 8 and B 8 x 8.
__global__ void multiply_tf32(const float* A, const float* B, float* D) {
  const unsigned group = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned a[4];
  for (unsigned i = 0; i < 4; ++i) a[i] = __float_as_uint(A[(group + i % 2 * 8) * 8 + t + i / 2 * 4]);
  float d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = D[(group + i / 2 * 8) * 8 + t * 2 + i % 2];
  mma_m16n8k8_tf32(d, a, __float_as_uint(B[t * 8 + group]), __float_as_uint(B[(t + 4) * 8 + group]));
  for (unsigned i = 0; i < 4; ++i) D[(group + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

// D = A B^T + D in int32, A 16 x 32, B 8 x 32, both row-major, through ldmatrix: rows of 16 bytes, in halves of a row.
__global__ void multiply_s8(const signed char* A, const signed char* B, int* D) {
  __shared__ uint4 chunks[24 * 2];
  const unsigned lane = threadIdx.x, group = lane / 4, t = lane % 4;
  chunks[lane] = reinterpret_cast<const uint4*>(A)[lane];
  if (lane < 16) chunks[32 + lane] = reinterpret_cast<const uint4*>(B)[lane];
  __syncthreads();
  unsigned a[4], b[4];
  ldmatrix_x4(a, &chunks[lane % 16 * 2 + lane / 16]);
  ldmatrix_x4(b, &chunks[32 + lane % 8 * 2 + lane / 8 % 2]);  // the same two matrices twice
  int d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = D[(group + i / 2 * 8) * 8 + t * 2 + i % 2];
  mma_m16n8k32_s8(d, a, b[0], b[1]);
  for (unsigned i = 0; i < 4; ++i) D[(group + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

template <int m, int n, int k, class T, class LayoutA, class LayoutB, class Element>
__global__ void wmma_product(const Element* A, const Element* B, const float* C, float* D) {
  wmma::fragment<wmma::matrix_a, m, n, k, T, LayoutA> a;
  wmma::fragment<wmma::matrix_b, m, n, k, T, LayoutB> b;
  wmma::fragment<wmma::accumulator, m, n, k, float> c, d;
  wmma::load_matrix_sync(a, A, std::is_same<LayoutA, wmma::row_major>::value ? k : m);
  wmma::load_matrix_sync(b, B, std::is_same<LayoutB, wmma::row_major>::value ? n : k);
  wmma::load_matrix_sync(c, C, m, wmma::mem_col_major);
  wmma::fill_fragment(d, 0.0f);
  wmma::mma_sync(d, a, b, c);
  for (int i = 0; i < d.num_elements; ++i) d.x[i] *= 2;
  wmma::store_matrix_sync(D, d, n, wmma::mem_row_major);
}

// Checks D = 2 (A B + C) with small integers. A and B are stored in the given layouts.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class Element>
void check_wmma(Element (*make)(float)) {
  Random random(m * 100 + n);
  std::vector<int> a(m * k), b(k * n), c(m * n);
  for (auto* matrix : {&a, &b, &c}) {
    for (int& x : *matrix) x = random(-8, 8);
  }
  const bool row_a = std::is_same<LayoutA, wmma::row_major>::value,
             row_b = std::is_same<LayoutB, wmma::row_major>::value;
  std::vector<Element> stored_a(m * k), stored_b(k * n);
  std::vector<float> stored_c(m * n), want(m * n);
  for (int i = 0; i < m; ++i) {
    for (int l = 0; l < k; ++l) stored_a[row_a ? i * k + l : l * m + i] = make(static_cast<float>(a[i * k + l]));
    for (int j = 0; j < n; ++j) {
      stored_c[j * m + i] = static_cast<float>(c[i * n + j]);
      int sum = c[i * n + j];
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      want[i * n + j] = static_cast<float>(2 * sum);
    }
  }
  for (int l = 0; l < k; ++l) {
    for (int j = 0; j < n; ++j) stored_b[row_b ? l * n + j : j * k + l] = make(static_cast<float>(b[l * n + j]));
  }
  DeviceVector<Element> A(stored_a), B(stored_b);
  DeviceVector<float> C(stored_c), D(m * n);
  wmma_product<m, n, k, T, LayoutA, LayoutB><<<1, 32>>>(A.data(), B.data(), C.data(), D.data());
  CHECK(D.get() == want);
}

// Returns c plus the sum of up to 16 numbers.
float sum_bf16(float c, std::vector<float> products) {
  std::vector<__nv_bfloat16> a(16 * 16, __float2bfloat16(0.0f)), b(16 * 8, __float2bfloat16(1.0f));
  for (std::size_t i = 0; i < products.size(); ++i) a[i] = __float2bfloat16(products[i]);
  DeviceVector<__nv_bfloat16> A(a), B(b);
  DeviceVector<float> D(16 * 8, c);
  multiply_bf16<<<1, 32>>>(A.data(), B.data(), D.data());
  return D.get()[0];
}

}  // namespace

TEST_CASE("ldmatrix: which lane gets which elements") {
  std::vector<unsigned short> in(32 * 8);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned short>(i);
  DeviceVector<unsigned short> rows(in);
  DeviceVector<unsigned> plain(32 * 4), transposed(32 * 4);
  load<false><<<1, 32>>>(rows.data(), plain.data());
  load<true><<<1, 32>>>(rows.data(), transposed.data());
  const auto got = plain.get(), got_transposed = transposed.get();
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      const unsigned outer = lane / 4, inner = lane % 4 * 2, first = matrix * 64;
      CHECK(got[lane * 4 + matrix] == ((first + outer * 8 + inner) | (first + outer * 8 + inner + 1) << 16));
      CHECK(got_transposed[lane * 4 + matrix] ==
            ((first + inner * 8 + outer) | (first + (inner + 1) * 8 + outer) << 16));
    }
  }
}

TEST_CASE("mma.sync m16n8k16 on BF16 and m16n8k8 on TF32: the fragments of the manual") {
  Random random(7);
  for (const int k : {16, 8}) {
    std::vector<float> a(16 * k), b(k * 8), d(16 * 8), want(16 * 8);
    for (auto* matrix : {&a, &b, &d}) {
      for (float& x : *matrix) x = static_cast<float>(random(-16, 16));
    }
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        want[i * 8 + j] = d[i * 8 + j];
        for (int l = 0; l < k; ++l) want[i * 8 + j] += a[i * k + l] * b[l * 8 + j];
      }
    }
    DeviceVector<float> D(d);
    if (k == 16) {
      std::vector<__nv_bfloat16> a16, b16;
      for (const float x : a) a16.push_back(__float2bfloat16(x));
      for (const float x : b) b16.push_back(__float2bfloat16(x));
      DeviceVector<__nv_bfloat16> A(a16), B(b16);
      multiply_bf16<<<1, 32>>>(A.data(), B.data(), D.data());
    } else {
      DeviceVector<float> A(a), B(b);
      multiply_tf32<<<1, 32>>>(A.data(), B.data(), D.data());
    }
    CHECK(D.get() == want);
  }
}

TEST_CASE("mma.sync m16n8k32 on int8: ldmatrix gives it its fragments, and sums wrap") {
  Random random(5);
  std::vector<signed char> a(16 * 32), b(8 * 32);
  std::vector<int> d(16 * 8), want(16 * 8);
  for (auto* matrix : {&a, &b}) {
    for (signed char& x : *matrix) x = static_cast<signed char>(random(-128, 127));
  }
  for (int& x : d) x = random(-1000, 1000);
  std::fill_n(a.begin(), 32, static_cast<signed char>(-128));
  std::fill_n(b.begin(), 32, static_cast<signed char>(-128));
  d[0] = std::numeric_limits<int>::max();
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      long long sum = d[i * 8 + j];
      for (int l = 0; l < 32; ++l) sum += a[i * 32 + l] * b[j * 32 + l];
      want[i * 8 + j] = static_cast<int>(static_cast<unsigned>(sum));
    }
  }
  CHECK(want[0] < 0);
  DeviceVector<signed char> A(a), B(b);
  DeviceVector<int> D(d);
  multiply_s8<<<1, 32>>>(A.data(), B.data(), D.data());
  CHECK(D.get() == want);
}

TEST_CASE("mma.sync on TF32 ignores the low 13 bits") {
  std::vector<float> a(16 * 8, 0.0f), b(8 * 8, 1.0f);
  a[0] = 1.0f + std::ldexp(1.0f, -11);
  a[1] = 1.0f + std::ldexp(1.0f, -10);
  DeviceVector<float> A(a), B(b), D(16 * 8);
  multiply_tf32<<<1, 32>>>(A.data(), B.data(), D.data());
  CHECK(D.get()[0] == 2.0f + std::ldexp(1.0f, -10));
}

TEST_CASE("mma.h: every shape, type and layout") {
  using wmma::col_major;
  using wmma::row_major;
  const auto half = [](float x) { return __float2half(x); };
  const auto bfloat = [](float x) { return __float2bfloat16(x); };
  const auto tf32 = [](float x) { return x; };
  check_wmma<16, 16, 16, __half, row_major, row_major, __half>(half);
  check_wmma<16, 16, 16, __half, col_major, row_major, __half>(half);
  check_wmma<16, 16, 16, __nv_bfloat16, row_major, col_major, __nv_bfloat16>(bfloat);
  check_wmma<32, 8, 16, __nv_bfloat16, row_major, row_major, __nv_bfloat16>(bfloat);
  check_wmma<8, 32, 16, __nv_bfloat16, col_major, col_major, __nv_bfloat16>(bfloat);
  check_wmma<16, 16, 8, wmma::precision::tf32, row_major, row_major, float>(tf32);
  check_wmma<16, 16, 8, wmma::precision::tf32, col_major, col_major, float>(tf32);
}

__global__ void round_to_tf32(float* x) { x[threadIdx.x] = wmma::__float_to_tf32(x[threadIdx.x]); }

TEST_CASE("__float_to_tf32 rounds to the nearest, of a tie away from 0") {
  const float tie = std::ldexp(1.0f, -11), unit = std::ldexp(1.0f, -10), below = std::ldexp(1.0f, -23);
  DeviceVector<float> x({1 + tie, 1 + tie - below, -1 - tie, 1 + unit, 0});
  round_to_tf32<<<1, 5>>>(x.data());
  CHECK(x.get() == std::vector<float>{1 + unit, 1, -1 - unit, 1 + unit, 0});
}

// Measured on an H200. Fasi et al. (PeerJ Computer Science 7:e330, 2021) found the same on an A100, with groups of 8.
TEST_CASE("how mma.sync adds: cut off 2 bits behind a float, and the sum cut off to a float") {
  const auto power = [](int exponent) { return std::ldexp(1.0f, exponent); };
  const float next = 1 + power(-23);
  CHECK(sum_bf16(1, {power(-24)}) == 1);
  CHECK(sum_bf16(1, {power(-23), power(-24)}) == next);  // truncated: the nearest would be 1 + 2^-22
  CHECK(sum_bf16(-1, {power(-25)}) == -(1 - power(-24)));
  CHECK(sum_bf16(1, std::vector<float>(2, power(-24))) == next);
  CHECK(sum_bf16(1, std::vector<float>(4, power(-25))) == next);
  CHECK(sum_bf16(1, std::vector<float>(8, power(-26))) == 1);  // each is lost
  CHECK(sum_bf16(0, {power(30), -power(30), 1}) == 0);         // aligned to 2^30, 1 is lost, in any order
  CHECK(sum_bf16(power(30), {-power(30), 1}) == 0);
  CHECK(sum_bf16(1, {std::ldexp(1.0f, 127), -std::ldexp(1.0f, 127)}) == 0);
  CHECK(std::isinf(sum_bf16(std::ldexp(1.0f, 127), {std::ldexp(1.0f, 127)})));
}
