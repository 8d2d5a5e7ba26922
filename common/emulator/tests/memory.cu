// Atomics, shared and constant memory, vector types, and the runtime's limits and errors.
#include "support.cuh"

#include <cuda_fp16.h>
#ifdef CUDA_EMU
#include "cuda_emu/read_only.hpp"
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

// ---------------------------------------------------------------- atomics

namespace {

enum Cell { kAdd, kSub, kMin, kMax, kAnd, kOr, kXor, kCells };

template <class T>
__global__ void integer_atomics(T* cells, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&cells[kAdd], in[i]);
  atomicMin(&cells[kMin], in[i]);
  atomicMax(&cells[kMax], in[i]);
  atomicAnd(&cells[kAnd], in[i]);
  atomicOr(&cells[kOr], in[i]);
  atomicXor(&cells[kXor], in[i]);
  if constexpr (sizeof(T) == 4) atomicSub(&cells[kSub], in[i]);
}

template <class T>
void check_integer_atomics() {
  const int n = 3000;
  Random random(17);
  std::vector<T> in(n);
  for (T& v : in) v = static_cast<T>(random(-1000000, 1000000)) * (sizeof(T) == 8 ? 1000003 : 1) + 1;
  std::vector<T> cells = {5, 5, in[0], in[0], static_cast<T>(-1), 0, 0};
  auto expected = cells;
  for (const T v : in) {
    expected[kAdd] += v;
    if (sizeof(T) == 4) expected[kSub] -= v;
    expected[kMin] = std::min(expected[kMin], v);
    expected[kMax] = std::max(expected[kMax], v);
    expected[kAnd] &= v;
    expected[kOr] |= v;
    expected[kXor] ^= v;
  }
  DeviceVector<T> device_cells(cells), device_in(in);
  integer_atomics<<<(n + 127) / 128, 128>>>(device_cells.data(), device_in.data(), n);
  CHECK(device_cells.get() == expected);
}

template <class T>
__global__ void add_atomically(T* sum, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, in[i]);
}

template <class T>
void check_float_add() {
  const int n = 3000;
  Random random(19);
  std::vector<T> in(n);
  double expected = 0;
  for (T& v : in) expected += v = static_cast<T>(random(-1000, 1000));  // whole numbers: exact in any order
  DeviceVector<T> sum(1), device_in(in);
  add_atomically<<<(n + 127) / 128, 128>>>(sum.data(), device_in.data(), n);
  CHECK(sum.get()[0] == expected);
}

__device__ float max_by_cas(float* cell, float value) {
  int* bits = reinterpret_cast<int*>(cell);
  int old = *bits;
  while (value > __int_as_float(old)) {
    const int expected = old;
    old = atomicCAS(bits, expected, __float_as_int(value));
    if (old == expected) break;
  }
  return __int_as_float(old);
}

__device__ void add_by_cas(double* cell, double value) {
  auto* bits = reinterpret_cast<unsigned long long*>(cell);
  unsigned long long old = *bits, expected;
  do {
    expected = old;
    old = atomicCAS(bits, expected,
                    static_cast<unsigned long long>(__double_as_longlong(value + __longlong_as_double(expected))));
  } while (old != expected);
}

__global__ void cas_loops(float* greatest, double* sum, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  max_by_cas(greatest, in[i] * 0.25f);
  add_by_cas(sum, in[i]);
}

__global__ void wrapping_counters(unsigned* cells, unsigned* seen_up, unsigned* seen_down, unsigned limit) {
  atomicAdd(&seen_up[atomicInc(&cells[0], limit)], 1);
  atomicAdd(&seen_down[atomicDec(&cells[1], limit)], 1);
}

template <class T>
__global__ void exchange_all(T* cell, T* got) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  got[i] = atomicExch(cell, static_cast<T>(i + 1));
}

template <class T>
void check_exchange() {
  const int n = 512;
  DeviceVector<T> cell(1), got(n);
  exchange_all<<<4, n / 4>>>(cell.data(), got.data());
  auto values = got.get();
  values.push_back(cell.get()[0]);
  std::sort(values.begin(), values.end());
  for (int i = 0; i <= n; ++i) REQUIRE(values[i] == static_cast<T>(i));  // no value is lost
}

__global__ void lock_in_turn(int* lock, int* plain_sum) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      volatile int* sum = plain_sum;
      *sum = *sum + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

}  // namespace

TEST_CASE("atomics of every integer type") {
  check_integer_atomics<int>();
  check_integer_atomics<unsigned>();
  check_integer_atomics<unsigned long long>();
}

TEST_CASE("atomic additions of floating-point numbers") {
  check_float_add<float>();
  check_float_add<double>();
}

TEST_CASE("compare-and-swap loops") {
  const int n = 2000;
  Random random(23);
  std::vector<int> in(n);
  for (int& v : in) v = random(-5000, 5000);
  DeviceVector<float> greatest(1, -1e9f);
  DeviceVector<double> sum(1);
  DeviceVector<int> device_in(in);
  cas_loops<<<(n + 255) / 256, 256>>>(greatest.data(), sum.data(), device_in.data(), n);
  double expected = 0;
  for (const int v : in) expected += v;
  CHECK(greatest.get()[0] == *std::max_element(in.begin(), in.end()) * 0.25f);
  CHECK(sum.get()[0] == expected);
}

TEST_CASE("atomicInc and atomicDec wrap") {
  const unsigned limit = 6, n = 4 * 250;
  DeviceVector<unsigned> cells(2, 0u), up(limit + 1), down(limit + 1);
  wrapping_counters<<<4, 250>>>(cells.data(), up.data(), down.data(), limit);
  const auto ends = cells.get();
  CHECK(ends[0] == n % (limit + 1));
  CHECK(ends[1] == (limit + 1 - n % (limit + 1)) % (limit + 1));
  for (const auto& seen : {up.get(), down.get()})
    for (const unsigned count : seen) CHECK((count == n / (limit + 1) || count == n / (limit + 1) + 1));
}

TEST_CASE("atomicExch loses nothing") {
  check_exchange<int>();
  check_exchange<unsigned>();
  check_exchange<unsigned long long>();
  check_exchange<float>();
}

TEST_CASE("a lock held in turn by the threads of several blocks") {
  DeviceVector<int> lock(1), sum(1);
  lock_in_turn<<<8, 96>>>(lock.data(), sum.data());
  CHECK(sum.get()[0] == 8 * 96);
}

// ---------------------------------------------------------------- shared memory

namespace {

struct Pair {
  double first;
  int second;
};

template <class T, int Rows, int Columns>
__global__ void shared_kinds(T* out, std::uintptr_t* addresses) {
  __shared__ T two_d[Rows][Columns + 1], one_d[Rows * Columns];
  __shared__ alignas(128) float aligned[3];
  __shared__ __align__(16) unsigned char bytes[5];
  __shared__ alignas(alignof(double)) char doubles[8];
  static __shared__ Pair pair;
  volatile __shared__ int flag;
  T __shared__ keyword_second[4];
  __shared__ const T* pointer;
  const int t = threadIdx.x, row = t / Columns, column = t % Columns;
  two_d[row][column] = static_cast<T>(t);
  one_d[t] = static_cast<T>(2 * t);
  if (t == 0) {
    aligned[2] = 3;
    bytes[4] = 4;
    *reinterpret_cast<double*>(doubles) = 5;
    pair.first = 6;
    pair.second = 7;
    flag = 8;
    keyword_second[3] = 9;
    pointer = &one_d[Columns];
    addresses[0] = reinterpret_cast<std::uintptr_t>(aligned) % 128;
    addresses[1] = reinterpret_cast<std::uintptr_t>(bytes) % 16;
    addresses[2] = reinterpret_cast<std::uintptr_t>(doubles) % alignof(double);
    addresses[3] = reinterpret_cast<std::uintptr_t>(&pair) % alignof(Pair);
  }
  __syncthreads();
  const T transposed = two_d[t % Rows][t / Rows];
  const T others = static_cast<T>(aligned[2] + bytes[4] + *reinterpret_cast<double*>(doubles) + pair.first +
                                  pair.second + flag + keyword_second[3]);
  out[t] = transposed + one_d[Rows * Columns - 1 - t] + others + *pointer;
}

template <class T, int Rows, int Columns>
void check_shared_kinds() {
  DeviceVector<T> out(Rows * Columns);
  DeviceVector<std::uintptr_t> addresses(4, 1);
  shared_kinds<T, Rows, Columns><<<1, Rows * Columns>>>(out.data(), addresses.data());
  const auto got = out.get();
  for (int t = 0; t < Rows * Columns; ++t) {
    const int transposed = t % Rows * Columns + t / Rows;
    CHECK(got[t] == static_cast<T>(transposed + 2 * (Rows * Columns - 1 - t) + 42 + 2 * Columns));
  }
  CHECK(addresses.get() == std::vector<std::uintptr_t>(4, 0));
}

template <class T>
__global__ void reverse_dynamic(T* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* values = reinterpret_cast<T*>(memory);
  values[threadIdx.x] = static_cast<T>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

__global__ void transpose_dynamic(float* out) {
  extern __shared__ float tile[][33];
  for (int row = 0; row < 32; ++row) tile[row][threadIdx.x] = row * 32 + threadIdx.x;
  __syncthreads();
  for (int row = 0; row < 32; ++row) out[row * 32 + threadIdx.x] = tile[threadIdx.x][row];
}

__device__ float* scratch() {
  __shared__ float values[64];
  return values;
}

__device__ float& other_scratch() {
  __shared__ float value;
  return value;
}

__global__ void shared_in_functions(float* out) {
  const int t = threadIdx.x;
  scratch()[t] = t;
  if (t == 0) other_scratch() = 100;
  __syncthreads();
  out[t] = scratch()[63 - t] + other_scratch();
}

#ifdef CUDA_EMU
__global__ void read_unwritten(float* out) {
  __shared__ float values[32];
  extern __shared__ float dynamic[];
  if (threadIdx.x % 2) values[threadIdx.x] = dynamic[threadIdx.x] = 1;
  __syncthreads();
  out[2 * threadIdx.x] = values[threadIdx.x];
  out[2 * threadIdx.x + 1] = dynamic[threadIdx.x];
}
#endif

}  // namespace

TEST_CASE("static shared memory of many kinds") {
  check_shared_kinds<float, 8, 16>();
  check_shared_kinds<double, 16, 4>();
  check_shared_kinds<int, 3, 7>();
}

TEST_CASE("dynamic shared memory") {
  DeviceVector<double> doubles(100);
  reverse_dynamic<<<1, 100, 100 * sizeof(double)>>>(doubles.data());
  DeviceVector<short> shorts(100);
  reverse_dynamic<<<1, 100, 100 * sizeof(short)>>>(shorts.data());
  DeviceVector<float> transposed(32 * 32);
  transpose_dynamic<<<1, 32, 32 * 33 * sizeof(float)>>>(transposed.data());
  const auto d = doubles.get();
  const auto s = shorts.get();
  const auto f = transposed.get();
  for (int t = 0; t < 100; ++t) CHECK((d[t] == 99 - t && s[t] == 99 - t));
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j) REQUIRE(f[i * 32 + j] == j * 32 + i);
}

TEST_CASE("shared variables of device functions") {
  DeviceVector<float> out(64);
  shared_in_functions<<<1, 64>>>(out.data());
  const auto got = out.get();
  for (int t = 0; t < 64; ++t) CHECK(got[t] == 163 - t);
}

#ifdef CUDA_EMU
TEST_CASE("shared memory nobody wrote is NaN, in every block") {
  DeviceVector<float> out(64);
  for (int repeat = 0; repeat < 2; ++repeat) {
    read_unwritten<<<8, 32, 32 * sizeof(float)>>>(out.data());
    const auto got = out.get();
    for (int i = 0; i < 64; ++i) CHECK((i / 2 % 2 ? got[i] == 1 : std::isnan(got[i])));
  }
}
#endif

// ---------------------------------------------------------------- constant and global variables

namespace {

__constant__ float weights[16];
__constant__ int offset = 1000;
__device__ int counter = 3;

__global__ void use_symbols(float* out) {
  out[threadIdx.x] = weights[threadIdx.x] + offset;
  atomicAdd(&counter, 1);
}

}  // namespace

TEST_CASE("constant memory and device variables") {
  std::vector<float> values(16);
  for (int i = 0; i < 16; ++i) values[i] = 0.5f * i;
  REQUIRE_CUDA(cudaMemcpyToSymbol(weights, values.data(), sizeof weights));
  const float seven[] = {70, 71};
  REQUIRE_CUDA(cudaMemcpyToSymbol(weights, seven, sizeof seven, 7 * sizeof(float)));
  values[7] = 70;
  values[8] = 71;
  DeviceVector<float> out(16);
  use_symbols<<<1, 16>>>(out.data());
  const auto got = out.get();
  for (int i = 0; i < 16; ++i) CHECK(got[i] == values[i] + 1000);
  int count = 0;
  REQUIRE_CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  CHECK(count == 19);
  float back[16];
  REQUIRE_CUDA(cudaMemcpyFromSymbol(back, weights, sizeof back));
  CHECK(std::vector<float>(back, back + 16) == values);
  CHECK(cudaMemcpyToSymbol(weights, values.data(), sizeof weights + 1) != cudaSuccess);
  cudaGetLastError();
}

// ---------------------------------------------------------------- vector types

template <class T, std::size_t Size, std::size_t Alignment>
constexpr bool has_layout = sizeof(T) == Size && alignof(T) == Alignment;

static_assert(has_layout<char1, 1, 1> && has_layout<char2, 2, 2> && has_layout<char3, 3, 1> && has_layout<char4, 4, 4>);
static_assert(has_layout<uchar1, 1, 1> && has_layout<uchar2, 2, 2> && has_layout<uchar3, 3, 1> &&
              has_layout<uchar4, 4, 4>);
static_assert(has_layout<short1, 2, 2> && has_layout<short2, 4, 4> && has_layout<short3, 6, 2> &&
              has_layout<short4, 8, 8>);
static_assert(has_layout<ushort1, 2, 2> && has_layout<ushort2, 4, 4> && has_layout<ushort3, 6, 2> &&
              has_layout<ushort4, 8, 8>);
static_assert(has_layout<int1, 4, 4> && has_layout<int2, 8, 8> && has_layout<int3, 12, 4> && has_layout<int4, 16, 16>);
static_assert(has_layout<uint1, 4, 4> && has_layout<uint2, 8, 8> && has_layout<uint3, 12, 4> &&
              has_layout<uint4, 16, 16>);
static_assert(has_layout<float1, 4, 4> && has_layout<float2, 8, 8> && has_layout<float3, 12, 4> &&
              has_layout<float4, 16, 16>);
static_assert(has_layout<longlong1, 8, 8> && has_layout<longlong2, 16, 16> && has_layout<longlong3, 24, 8>);
static_assert(has_layout<ulonglong1, 8, 8> && has_layout<ulonglong2, 16, 16> && has_layout<ulonglong3, 24, 8>);
static_assert(has_layout<double1, 8, 8> && has_layout<double2, 16, 16> && has_layout<double3, 24, 8>);
static_assert(has_layout<dim3, 12, 4>);
#ifdef CUDA_EMU  // nvcc 13 calls them deprecated
static_assert(has_layout<double4, 32, 16> && has_layout<longlong4, 32, 16> && has_layout<ulonglong4, 32, 16>);
#endif

namespace {

__global__ void scale_vectors(const float4* in, float4* out, double2* doubles) {
  const float4 v = in[threadIdx.x];
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, 2 * v.x);
  doubles[threadIdx.x] = double2{v.x, make_double2(v.y, v.z).y};
}

}  // namespace

TEST_CASE("vector types in kernels") {
  std::vector<float> in(4 * 32);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  DeviceVector<float> device_in(in), out(in.size());
  DeviceVector<double> doubles(2 * 32);
  scale_vectors<<<1, 32>>>(reinterpret_cast<const float4*>(device_in.data()), reinterpret_cast<float4*>(out.data()),
                           reinterpret_cast<double2*>(doubles.data()));
  const auto got = out.get();
  const auto d = doubles.get();
  for (int i = 0; i < 32; ++i) {
    CHECK((got[4 * i] == in[4 * i + 3] && got[4 * i + 1] == in[4 * i + 2] && got[4 * i + 2] == in[4 * i + 1] &&
           got[4 * i + 3] == 2 * in[4 * i]));
    CHECK((d[2 * i] == in[4 * i] && d[2 * i + 1] == in[4 * i + 2]));
  }
}

TEST_CASE("dim3 defaults to ones") {
  const dim3 one, two(5), three(5, 6, 7);
  CHECK((one.x == 1 && one.y == 1 && one.z == 1 && two.x == 5 && two.y == 1 && three.z == 7));
}

// ---------------------------------------------------------------- the runtime

namespace {

__global__ void count_threads(int* count) { atomicAdd(count, 1); }

template <int Line>
__global__ void record_line(int* line) {
  *line = Line;
}

}  // namespace

TEST_CASE("launches within the limits run every thread, others none") {
  struct Case {
    dim3 grid, block;
    bool valid;
  };
  const std::vector<Case> cases = {{1, 1024, true},
                                   {dim3(1, 1, 2), dim3(1, 1, 64), true},
                                   {dim3(2, 3, 4), dim3(3, 5, 7), true},
                                   {dim3(1, 65535), 1, true},
                                   {100000, 1, true},
                                   {1, 1025, false},
                                   {1, dim3(33, 32), false},
                                   {1, dim3(1, 1, 65), false},
                                   {1, 0, false},
                                   {0, 32, false},
                                   {dim3(1, 0), 32, false},
                                   {dim3(1, 65536), 1, false},
                                   {dim3(1, 1, 65536), 1, false},
                                   {1, dim3(1, 1025), false}};
  for (const Case& c : cases) {
    INFO("grid " << c.grid.x << "," << c.grid.y << "," << c.grid.z << " block " << c.block.x << "," << c.block.y << ","
                 << c.block.z);
    DeviceVector<int> count(1);
    count_threads<<<c.grid, c.block>>>(count.data());
    const cudaError_t error = cudaPeekAtLastError();
#ifdef CUDA_EMU
    CHECK(error == (c.valid ? cudaSuccess : cudaErrorInvalidConfiguration));
#else  // since CUDA 13 cudaErrorInvalidValue
    CHECK((error == cudaSuccess) == c.valid);
#endif
    CHECK(cudaGetLastError() == error);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(count.get()[0] ==
          (c.valid ? static_cast<int>(c.grid.x * c.grid.y * c.grid.z * c.block.x * c.block.y * c.block.z) : 0));
  }
}

TEST_CASE("too much shared memory is refused") {
  DeviceVector<int> count(1);
  count_threads<<<1, 32, 1 << 20>>>(count.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(count.get()[0] == 0);
  // more than 48 KiB must be requested first
  count_threads<<<1, 32, 64000>>>(count.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  REQUIRE_CUDA(cudaFuncSetAttribute(count_threads, cudaFuncAttributeMaxDynamicSharedMemorySize, 64000));
  count_threads<<<1, 32, 64000>>>(count.data());
  CHECK(count.get()[0] == 32);
}

TEST_CASE("cudaMalloc") {
  void* pointer = nullptr;
  REQUIRE_CUDA(cudaMalloc(&pointer, 1000));
  CHECK(reinterpret_cast<std::uintptr_t>(pointer) % 256 == 0);
#ifdef CUDA_EMU
  std::vector<float> values(250);
  REQUIRE_CUDA(cudaMemcpy(values.data(), pointer, 1000, cudaMemcpyDeviceToHost));
  for (const float v : values) REQUIRE(std::isnan(v));
#endif
  REQUIRE_CUDA(cudaMemset(pointer, 0, 1000));
  REQUIRE_CUDA(cudaFree(pointer));
  REQUIRE_CUDA(cudaFree(nullptr));

  CHECK(cudaMalloc(&pointer, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("page-locked host memory, seen from a kernel") {
  int* host = nullptr;
  int* device = nullptr;
  REQUIRE_CUDA(cudaHostAlloc(&host, sizeof(int), cudaHostAllocMapped));
  *host = 0;
  REQUIRE_CUDA(cudaHostGetDevicePointer(&device, host, 0));
  count_threads<<<10, 100>>>(device);
  REQUIRE_CUDA(cudaDeviceSynchronize());
  CHECK(*host == 1000);
  REQUIRE_CUDA(cudaFreeHost(host));
}

TEST_CASE("a host function runs after what was in its stream before") {
  DeviceVector<int> count(1);
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreate(&stream));
  struct Seen {
    const int* device;
    int* pinned;
    int value;
  } seen{count.data(), nullptr, -1};
  REQUIRE_CUDA(cudaMallocHost(&seen.pinned, sizeof(int)));
  count_threads<<<100, 100, 0, stream>>>(count.data());
  REQUIRE_CUDA(cudaMemcpyAsync(seen.pinned, seen.device, sizeof(int), cudaMemcpyDeviceToHost, stream));
  const auto look = [](void* data) { static_cast<Seen*>(data)->value = *static_cast<Seen*>(data)->pinned; };
  REQUIRE_CUDA(cudaLaunchHostFunc(stream, look, &seen));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  CHECK(seen.value == 10000);
  REQUIRE_CUDA(cudaFreeHost(seen.pinned));
  REQUIRE_CUDA(cudaStreamDestroy(stream));
}

TEST_CASE("events") {
  cudaEvent_t start, end;
  REQUIRE_CUDA(cudaEventCreate(&start));
  REQUIRE_CUDA(cudaEventCreate(&end));
  DeviceVector<int> count(1);
  REQUIRE_CUDA(cudaEventRecord(start));
  count_threads<<<100, 100>>>(count.data());
  REQUIRE_CUDA(cudaEventRecord(end));
  REQUIRE_CUDA(cudaEventSynchronize(end));
  float milliseconds = -1;
  REQUIRE_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds > 0);
  CHECK(milliseconds < 60000);
  REQUIRE_CUDA(cudaEventDestroy(start));
  REQUIRE_CUDA(cudaEventDestroy(end));
}

TEST_CASE("a launch over several lines keeps its line numbers") {
  DeviceVector<int> line(1);
  // clang-format off
  constexpr int kBefore = __LINE__;
  record_line<
      kBefore
      + 1><<<
          1,
          1>>>(
              line.data());
  constexpr int kAfter = __LINE__;
  // clang-format on
  CHECK(line.get()[0] == kBefore + 1);
  CHECK(kAfter == kBefore + 7);
  CHECK(std::string(__FILE__).find("memory.cu") == std::string(__FILE__).size() - 9);
}

namespace {

// Each block waits for the sum of the previous block, and adds its number.
__global__ void chained_sum(int* sums, unsigned* flags) {
  if (threadIdx.x != 0) return;
  int sum = blockIdx.x;
  if (blockIdx.x > 0) {
    while (atomicAdd(&flags[blockIdx.x - 1], 0u) == 0) {
    }
    __threadfence();
    sum += *static_cast<volatile int*>(&sums[blockIdx.x - 1]);
  }
  sums[blockIdx.x] = sum;
  __threadfence();
  atomicExch(&flags[blockIdx.x], 1u);
}

}  // namespace

TEST_CASE("a block that waits for the one before gets what it waits for") {
  for (const unsigned blocks : {2u, 3u, 40u}) {
    DeviceVector<int> sums(blocks);
    DeviceVector<unsigned> flags(blocks, 0u);
    chained_sum<<<blocks, 32>>>(sums.data(), flags.data());
    const std::vector<int> got = sums.get();
    for (unsigned b = 0; b < blocks; ++b) CHECK(got[b] == static_cast<int>(b * (b + 1) / 2));
  }
}

#if defined(CUDA_EMU) && !defined(__SANITIZE_ADDRESS__)
namespace {

template <class T>
__global__ void read_one(const void* from, T* to) {
  *to = *static_cast<const T*>(from);
}
template <class T>
__global__ void write_one(const T* from, void* to) {
  T& target = *static_cast<T*>(to);
  if (threadIdx.x == 3) target = *from;
}

template <class T>
void check_alignment(std::size_t offset, cudaError_t wanted) {
  DeviceVector<char> memory(64), other(64);
  const auto result = [] {
    const cudaError_t error = cudaDeviceSynchronize();
    cudaDeviceReset();
    return error;
  };
  read_one<<<1, 4>>>(memory.data() + offset, reinterpret_cast<T*>(other.data()));
  CHECK(result() == wanted);
  write_one<<<1, 4>>>(reinterpret_cast<const T*>(other.data()), memory.data() + offset);
  CHECK(result() == wanted);
}

__global__ void put_back(volatile int* data, int n, int at) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || i != at) return;
  const int before = data[i];
  data[i] = 7;
  data[i] = before;
}

}  // namespace

TEST_CASE("a misaligned access is an error, whatever the type") {
  check_alignment<float4>(8, cudaErrorMisalignedAddress);
  check_alignment<uint4>(4, cudaErrorMisalignedAddress);
  check_alignment<double2>(8, cudaErrorMisalignedAddress);
  check_alignment<float2>(4, cudaErrorMisalignedAddress);
  check_alignment<__half2>(2, cudaErrorMisalignedAddress);
  check_alignment<float>(2, cudaErrorMisalignedAddress);
  check_alignment<float4>(16, cudaSuccess);
  check_alignment<float2>(8, cudaSuccess);
  check_alignment<__half2>(4, cudaSuccess);
}

TEST_CASE("the first write to memory that is watched is on record, even if it changes nothing") {
  const int n = 5000;
  DeviceVector<int> memory(n, 3), target(n);
  CHECK(!cuda_emu::watch_writes(memory.data() + n));  // no allocation
  REQUIRE(cuda_emu::watch_writes(memory.data()));
  REQUIRE_CUDA(cudaMemcpy(target.data(), memory.data(), n * sizeof(int), cudaMemcpyDeviceToDevice));
  put_back<<<20, 256>>>(memory.data(), n, n);
  CHECK(cuda_emu::stop_watching_writes(memory.data()).address == nullptr);

  REQUIRE(cuda_emu::watch_writes(memory.data()));
  put_back<<<20, 256>>>(memory.data(), n, 777);
  CHECK(memory.get() == std::vector<int>(n, 3));
  cuda_emu::FirstWrite write = cuda_emu::stop_watching_writes(memory.data());
  CHECK(write.address == memory.data() + 777);
  CHECK(std::string(write.thread).find("in kernel put_back, block (3,0,0), thread (9,0,0)") == 0);

  REQUIRE(cuda_emu::watch_writes(memory.data()));
  REQUIRE_CUDA(cudaMemset(memory.data() + 1, 0, sizeof(int)));
  write = cuda_emu::stop_watching_writes(memory.data());
  CHECK(write.address == memory.data() + 1);
  CHECK(std::string(write.thread) == "");
  CHECK(memory.get()[1] == 0);
  put_back<<<20, 256>>>(memory.data(), n, 777);  // no longer watched
  CHECK(cuda_emu::stop_watching_writes(memory.data()).address == nullptr);
}
#endif
