// Constructs that other programs use: headers, macros, overloads in the global namespace, and forms of kernels.
#include "support.cuh"

#include <cooperative_groups.h>
#ifdef CUDA_EMU
#include <cublas_v2.h>

#include "sanitized.hpp"
#include "skip.hpp"
#endif
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <math_constants.h>

#include <algorithm>
#include <cmath>

extern __shared__ float at_file_scope[];

namespace {

// ---------------------------------------------------------------- arithmetic

__global__ void absolutes(float* out, float a, double b) {
  out[0] = abs(a);
  out[1] = static_cast<float>(abs(b));
  out[2] = isfinite(a) && !isnan(b) && !isinf(a);
  out[3] = __powf(a, 2.0f);
  out[4] = CUDART_INF_F;
}

__global__ void compiled_for(int* out) {
#ifdef __CUDA_ARCH__
  out[0] = __CUDA_ARCH__ >= 700;
#else
  out[0] = 0;
#endif
#if defined(__CUDACC__) && defined(__NVCC__)
  out[1] = 1;
#else
  out[1] = 0;
#endif
}

__global__ void one_lost_bit(float* out, half large, half one) {
  half sum = large + one - large;
  out[0] = static_cast<float>(sum);
  sum = large;
  sum += one;
  sum -= large;
  out[1] = static_cast<float>(sum);
  out[2] = large > one && large != one && -one < one;
}

__global__ void halves(float* out, const half* a, half2* pairs, half* sum) {
  const int i = threadIdx.x;
  const half2 pair = __hfma2(pairs[0], pairs[1], pairs[2]);
  if (i == 0) {
    out[0] = __low2float(pair);
    out[1] = __high2float(pair);
    out[2] = __half2float(__hfma(a[0], a[1], a[2]));
    out[3] = __half2float(__hmax(a[0], a[2]));
    out[4] = __half2float(hexp(__float2half(0.0f)));
    pairs[0] = pairs[0] * pairs[1] + pairs[2];
    pairs[1] += pairs[2];
  }
  atomicAdd(sum, __float2half(1.0f));
  const half next = __shfl_down_sync(0xffffffffu, __float2half(static_cast<float>(i)), 1);
  if (i == 7) out[5] = __half2float(next);
}

// ---------------------------------------------------------------- shared memory and launches

__global__ void reverse_at_file_scope(float* data) {
  const int i = threadIdx.x;
  float* alias = at_file_scope;
  at_file_scope[i] = data[i];
  __syncthreads();
  data[i] = alias[blockDim.x - 1 - i] + *(at_file_scope + i) - static_cast<float*>(at_file_scope)[i];
}

__global__ void shared_struct(int* out) {
  __shared__ struct {
    int sum;
    int values[32];
  } s;
  s.values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    s.sum = 0;
    for (int v : s.values) s.sum += v;
    *out = s.sum;
  }
}

__global__ void optional(const int* in, int* out) { out[0] = in == nullptr ? -1 : in[0]; }

__global__ void set_v1(int* out, int value) { out[0] = value; }
template <int N>
__global__ void scaled(int* out, int value) {
  *out = N * value;
}

__global__ void set_v2(int* out, int value) { out[0] = 2 * value; }
#define RUN_VERSION(v, out, value) set_v##v<<<1, 1>>>(out, value)

// Warps 0 and 1 wait for each other without a barrier.
__global__ void ping_pong(volatile int* flags, int rounds) {
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 != 0) return;
  for (int round = 1; round <= rounds; ++round) {
    if (warp == 0) {
      flags[0] = round;
      while (flags[1] < round)
        ;
    } else {
      while (flags[0] < round) {
      }
      flags[1] = round;
    }
  }
}

// Each block waits for the next one.
__global__ void chain_backwards(volatile int* done) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 < gridDim.x)
    while (done[blockIdx.x + 1] == 0)
      ;
  __threadfence();
  done[blockIdx.x] = 1;
}

__global__ void scale(float* data, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}

__global__ void fill_rows(float* data, std::size_t pitch, int width, int height) {
  const int x = threadIdx.x, y = blockIdx.x;
  if (x < width && y < height) reinterpret_cast<float*>(reinterpret_cast<char*>(data) + y * pitch)[x] = 100.0f * y + x;
}

}  // namespace

TEST_CASE("abs, isfinite and powf of the global scope") {
  DeviceVector<float> out(5);
  absolutes<<<1, 1>>>(out.data(), -1.75f, -2.25);
  const auto got = out.get();
  CHECK(got[0] == 1.75f);
  CHECK(got[1] == 2.25f);
  CHECK(got[2] == 1);
  CHECK(std::isnan(got[3]));
  CHECK(std::isinf(got[4]));
}

TEST_CASE("the compiler's macros") {
  DeviceVector<int> out(2);
  compiled_for<<<1, 1>>>(out.data());
  CHECK(out.get() == std::vector<int>{1, 1});
  CHECK(CUDA_VERSION == CUDART_VERSION);
}

TEST_CASE("each operation of a half is rounded") {
  DeviceVector<float> out(3);
  one_lost_bit<<<1, 1>>>(out.data(), __float2half(2048.0f), __float2half(1.0f));
  CHECK(out.get() == std::vector<float>{0, 0, 1});
}

TEST_CASE("halves: fused operations, pairs, atomics and shuffles") {
  const auto h = [](float v) { return __float2half(v); };
  DeviceVector<half> a({h(1.0009765625f), h(0.9990234375f), h(-1.0f)}), sum(1, h(0));
  DeviceVector<half2> pairs({{h(2), h(3)}, {h(5), h(7)}, {h(1), h(-1)}});
  DeviceVector<float> out(6);
  halves<<<1, 32>>>(out.data(), a.data(), pairs.data(), sum.data());
  const auto got = out.get();
  CHECK(got[0] == 11);
  CHECK(got[1] == 20);
  CHECK(got[2] == -std::ldexp(1.0f, -20));  // (1 + 2^-10)(1 - 2^-10) - 1
  CHECK(got[3] == 1.0009765625f);
  CHECK(got[4] == 1);
  CHECK(got[5] == 8);
  CHECK(__half2float(sum.get()[0]) == 32);
  const auto p = pairs.get();
  CHECK((__low2float(p[0]) == 11 && __high2float(p[0]) == 20));
  CHECK((__low2float(p[1]) == 6 && __high2float(p[1]) == 6));
}

TEST_CASE("dynamic shared memory declared outside the kernel") {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  DeviceVector<float> data(values);
  reverse_at_file_scope<<<1, 64, 64 * sizeof(float)>>>(data.data());
  std::reverse(values.begin(), values.end());
  CHECK(data.get() == values);
}

TEST_CASE("a __shared__ variable that defines its type") {
  DeviceVector<int> out(1);
  shared_struct<<<1, 32>>>(out.data());
  CHECK(out.get()[0] == 31 * 16);
}

TEST_CASE("NULL for a pointer, pasted names, and kernels cast to void*") {
  DeviceVector<int> out(1);
  optional<<<1, 1>>>(NULL, out.data());
  CHECK(out.get()[0] == -1);
  RUN_VERSION(1, out.data(), 7);
  CHECK(out.get()[0] == 7);
  RUN_VERSION(2, out.data(), 7);
  CHECK(out.get()[0] == 14);
  int* p = out.data();
  int value = 21;
  void* arguments[] = {&p, &value};
  REQUIRE_CUDA(cudaLaunchKernel((void*)set_v1, dim3(1), dim3(1), arguments, 0, nullptr));
  CHECK(out.get()[0] == 21);
  REQUIRE_CUDA(cudaFuncSetAttribute((const void*)set_v1, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  int blocks = 0;
  REQUIRE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (void*)set_v1, 128, 0));
  CHECK(blocks > 0);
}

TEST_CASE("kernels launched by their addresses") {
  DeviceVector<int> out(1);
  int* p = out.data();
  int value = 1;
  void* arguments[] = {&p, &value};
  const auto factor = [&](const void* kernel) {
    REQUIRE_CUDA(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    return out.get()[0];
  };
  const void* kept = (const void*)set_v2;
  CHECK(factor(kept) == 2);
  CHECK(factor(reinterpret_cast<void*>(set_v1)) == 1);
  CHECK(factor((void*)scaled<3>) == 3);
  const void* table[] = {(void*)scaled<7>, reinterpret_cast<const void*>(&scaled<9>)};
  CHECK(factor(table[0]) == 7);
  CHECK(factor(table[1]) == 9);
  void (*of_type)(int*, int) = scaled<5>;
  REQUIRE_CUDA(cudaLaunchKernel((void*)of_type, dim3(1), dim3(1), arguments, 0, nullptr));
  CHECK(out.get()[0] == 5);
#ifdef CUDA_EMU  // CUDA's own library takes this pointer for a handle and crashes
  CHECK(cudaLaunchKernel((const void*)&value, dim3(1), dim3(1), arguments, 0, nullptr) ==
        cudaErrorInvalidDeviceFunction);
  CHECK(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
#endif
}

TEST_CASE("warps and blocks that wait for each other in a loop") {
  DeviceVector<int> flags(2);
  ping_pong<<<1, 64>>>(flags.data(), 50);
  CHECK(flags.get() == std::vector<int>{50, 50});
  DeviceVector<int> done(3);
  chain_backwards<<<3, 32>>>(done.data());
  CHECK(done.get() == std::vector<int>{1, 1, 1});
}

TEST_CASE("managed memory is the host's and the device's") {
  float* data = nullptr;
  const int n = 1000;
  REQUIRE_CUDA(cudaMallocManaged(&data, n * sizeof(float)));
  for (int i = 0; i < n; ++i) data[i] = static_cast<float>(i);
  scale<<<(n + 255) / 256, 256>>>(data, n, 2.0f);
  REQUIRE_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) REQUIRE(data[i] == 2.0f * i);
  cudaPointerAttributes attributes;
  REQUIRE_CUDA(cudaPointerGetAttributes(&attributes, data));
  CHECK(attributes.type == cudaMemoryTypeManaged);
  std::vector<float> copy(n);
  REQUIRE_CUDA(cudaMemcpy(copy.data(), data, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(copy[999] == 1998);
  REQUIRE_CUDA(cudaFree(data));
}

TEST_CASE("rows with a pitch") {
  const int width = 33, height = 5;
  float* data = nullptr;
  std::size_t pitch = 0;
  REQUIRE_CUDA(cudaMallocPitch(&data, &pitch, width * sizeof(float), height));
  CHECK((pitch >= width * sizeof(float) && pitch % 256 == 0));
  REQUIRE_CUDA(cudaMemset2D(data, pitch, 0, width * sizeof(float), height));
  fill_rows<<<height, 64>>>(data, pitch, width, height);
  std::vector<float> rows(width * height);
  REQUIRE_CUDA(cudaMemcpy2D(rows.data(), width * sizeof(float), data, pitch, width * sizeof(float), height,
                            cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) REQUIRE(rows[y * width + x] == 100.0f * y + x);
  }
  CHECK(cudaMemcpy2D(rows.data(), 4, data, pitch, 8, 1, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  REQUIRE_CUDA(cudaFree(data));
}

TEST_CASE("a box of a volume") {
  const int width = 9, height = 5, depth = 4;
  std::vector<float> values(width * height * depth), box(2 * 3 * 2, -1.0f);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  cudaPitchedPtr volume = {};
  REQUIRE_CUDA(cudaMalloc3D(&volume, make_cudaExtent(width * sizeof(float), height, depth)));
  CHECK((volume.pitch % 256 == 0 && volume.pitch >= width * sizeof(float)));
  cudaMemcpy3DParms in = {};
  in.srcPtr = make_cudaPitchedPtr(values.data(), width * sizeof(float), width, height);
  in.dstPtr = volume;
  in.extent = make_cudaExtent(width * sizeof(float), height, depth);
  in.kind = cudaMemcpyHostToDevice;
  REQUIRE_CUDA(cudaMemcpy3D(&in));
  // 2 x 3 x 2 from x = 4, y = 1, z = 2
  cudaMemcpy3DParms out = {};
  out.srcPtr = volume;
  out.srcPos = make_cudaPos(4 * sizeof(float), 1, 2);
  out.dstPtr = make_cudaPitchedPtr(box.data(), 2 * sizeof(float), 2, 3);
  out.extent = make_cudaExtent(2 * sizeof(float), 3, 2);
  out.kind = cudaMemcpyDeviceToHost;
  REQUIRE_CUDA(cudaMemcpy3DAsync(&out));
  REQUIRE_CUDA(cudaDeviceSynchronize());
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 2; ++x) {
        REQUIRE(box[(z * 3 + y) * 2 + x] == values[((z + 2) * height + y + 1) * width + x + 4]);
      }
    }
  }
  REQUIRE_CUDA(cudaFree(volume.ptr));
}

#ifdef CUDA_EMU
TEST_CASE("a box that is not within the rows or slices is an error") {
  std::vector<float> values(64);
  cudaPitchedPtr volume = {};
  REQUIRE_CUDA(cudaMalloc3D(&volume, make_cudaExtent(16, 2, 2)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), 16, 4, 2);
  copy.dstPtr = volume;
  copy.kind = cudaMemcpyHostToDevice;
  for (const cudaExtent& box : {make_cudaExtent(17, 2, 2), make_cudaExtent(16, 3, 1)}) {
    copy.extent = box;
    CHECK(cudaMemcpy3D(&copy) == cudaErrorInvalidValue);
  }
  cudaGetLastError();
  REQUIRE_CUDA(cudaFree(volume.ptr));
}
#endif

TEST_CASE("host memory that kernels use") {
  std::vector<float> values(64, 1.5f);
  REQUIRE_CUDA(cudaHostRegister(values.data(), 64 * sizeof(float), cudaHostRegisterMapped));
  float* mapped = nullptr;
  REQUIRE_CUDA(cudaHostGetDevicePointer(&mapped, values.data(), 0));
  scale<<<1, 64>>>(mapped, 64, 2.0f);
  REQUIRE_CUDA(cudaDeviceSynchronize());
  CHECK(values == std::vector<float>(64, 3.0f));
  CHECK(cudaHostRegister(values.data(), 64 * sizeof(float), 0) == cudaErrorHostMemoryAlreadyRegistered);
  cudaGetLastError();
  REQUIRE_CUDA(cudaHostUnregister(values.data()));
}

TEST_CASE("a callback comes after the kernel before it") {
  DeviceVector<int> out(1);
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreate(&stream));
  set_v1<<<1, 1, 0, stream>>>(out.data(), 3);
  bool called = false;
  REQUIRE_CUDA(cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t status, void* data) { *static_cast<bool*>(data) = status == cudaSuccess; },
      &called, 0));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  CHECK(called);
  REQUIRE_CUDA(cudaStreamDestroy(stream));
}

#ifdef CUDA_EMU
__global__ void copy_shared(int* out) {
  __shared__ int s;
  *out = s;
}

TEST_CASE("fresh memory holds what CUDA_EMU_FILL says") {
  const auto fresh = [] {
    int* memory = nullptr;
    int *shared = nullptr, values[2];
    REQUIRE_CUDA(cudaMalloc(&memory, sizeof(int)));
    REQUIRE_CUDA(cudaMalloc(&shared, sizeof(int)));
    copy_shared<<<1, 1>>>(shared);
    REQUIRE_CUDA(cudaMemcpy(&values[0], memory, sizeof(int), cudaMemcpyDeviceToHost));
    REQUIRE_CUDA(cudaMemcpy(&values[1], shared, sizeof(int), cudaMemcpyDeviceToHost));
    REQUIRE_CUDA(cudaFree(memory));
    REQUIRE_CUDA(cudaFree(shared));
    return std::vector<int>(values, values + 2);
  };
  REQUIRE(cuda_emu::set_fill("large"));
  CHECK(fresh() == std::vector<int>(2, 0x7e7e7e7e));
  CHECK(!cuda_emu::set_fill("zero"));
  REQUIRE(cuda_emu::set_fill("nan"));
  CHECK(fresh() == std::vector<int>(2, -1));
}

TEST_CASE("a reference of cuBLAS") {
  const int m = 5, n = 4, k = 3;
  const auto value = [](int i) { return static_cast<float>(i * 7 % 11 - 5); };
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = value(i);
  for (int i = 0; i < k * n; ++i) b[i] = value(i + 3);
  for (int i = 0; i < m * n; ++i) c[i] = value(i + 5);
  DeviceVector<float> da(a), db(b), dc(c), de(c);
  cublasHandle_t handle;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  const float alpha = 2, beta = -1;
  // column-major: A is m by k, and B is n by k, transposed
  REQUIRE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, da.data(), m, db.data(), n, &beta, dc.data(),
                      m) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, da.data(), CUDA_R_32F, m, db.data(),
                       CUDA_R_32F, n, &beta, de.data(), CUDA_R_32F, m, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  auto expected = c;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i + m * l] * b[j + n * l];
      expected[i + m * j] = alpha * sum + beta * c[i + m * j];
    }
  }
  CHECK(dc.get() == expected);
  CHECK(de.get() == expected);
  DeviceVector<float> dy(m, 1.0f);
  REQUIRE(cublasSgemv(handle, CUBLAS_OP_N, m, k, &alpha, da.data(), m, db.data(), 1, &beta, dy.data(), 1) ==
          CUBLAS_STATUS_SUCCESS);
  const auto y = dy.get();
  for (int i = 0; i < m; ++i) CHECK(y[i] == 2 * (a[i] * b[0] + a[i + m] * b[1] + a[i + 2 * m] * b[2]) - 1);
  float dot = 0;
  REQUIRE(cublasSdot(handle, 3, da.data(), 1, db.data(), 2, &dot) == CUBLAS_STATUS_SUCCESS);
  CHECK(dot == a[0] * b[0] + a[1] * b[2] + a[2] * b[4]);
  REQUIRE(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

// A GPU that can read pageable host memory copies without an error.
TEST_CASE("a copy from the device needs device memory") {
  if (kSanitized)
    return skip_test("copies of host memory: AddressSanitizer's build does not tell it from device memory");
  std::vector<float> a(16), b(16);
  CHECK(cudaMemcpy(a.data(), b.data(), 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(a.data(), b.data(), 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  cudaGetLastError();
}
#endif
