// CUDA helpers for every step: error checking, ceil_div, device properties, device memory.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// Thrown when a CUDA call fails. what() names the file, the line, the call and the runtime's message.
struct CudaError : std::runtime_error {
  CudaError(cudaError_t error, const char* call, const char* file, int line);
  cudaError_t code;
};

#pragma GCC visibility pop
}  // namespace ladder

// Throws ladder::CudaError unless `call` returns cudaSuccess. Use CUDA_CHECK(cudaGetLastError()) after a launch.
#define CUDA_CHECK(call)                                                                                       \
  do {                                                                                                         \
    const cudaError_t cuda_check_error = (call);                                                               \
    if (cuda_check_error != cudaSuccess) throw ladder::CudaError(cuda_check_error, #call, __FILE__, __LINE__); \
  } while (0)

// Returns a / b rounded up. a + b must not overflow.
template <typename A, typename B>
__host__ __device__ constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

// Returns true if all pointers are aligned for accesses of type V (16 bytes for float4).
template <typename V, typename... T>
bool aligned_for(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % alignof(V) == 0) && ...);
}

// Returns how many floats, 0 to 3, lie between p and the next 16-byte boundary. A kernel handles these before its
// float4.
__host__ __device__ inline unsigned floats_to_boundary(const float* p) {
  return static_cast<unsigned>((0 - reinterpret_cast<std::uintptr_t>(p) / sizeof(float)) % 4);
}

// Returns an attribute of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

inline int sm_count() { return device_attribute(cudaDevAttrMultiProcessorCount); }

inline std::size_t l2_bytes() { return device_attribute(cudaDevAttrL2CacheSize); }

// Returns the peak DRAM bandwidth in bytes per second: memory clock (kHz) x 2 transfers per clock x bus width (bits) /
// 8. Kernels reach about 0.9 of it.
inline double dram_bandwidth() {
  return 2e3 * device_attribute(cudaDevAttrMemoryClockRate) * device_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
}

// Returns how many blocks of `kernel` can be resident on the current device at once: blocks per SM times SMs. An SM's
// registers, shared memory and threads (2048 on sm_90, 1536 on sm_86, 1024 on sm_75) limit the blocks.
template <typename... Arguments>
std::size_t resident_blocks(void (*kernel)(Arguments...), int block_size, std::size_t dynamic_shared = 0) {
  int per_sm = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, block_size, dynamic_shared));
  return static_cast<std::size_t>(per_sm) * sm_count();
}

// Returns true if a kernel should read `bytes` of input with evict-first loads (__ldcs), which leave other kernels'
// data in L2. An input many times the size of L2 displaces them anyway.
inline bool evict_first_pays(std::size_t bytes) { return bytes <= 8 * l2_bytes(); }

// Owns uninitialised device memory for `count` elements.
template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count = 0) { reserve(count); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  // Makes room for at least `count` elements. The contents are lost if the buffer grows.
  void reserve(std::size_t count) {
    if (count <= count_) return;
    CUDA_CHECK(cudaFree(std::exchange(data_, nullptr)));
    count_ = 0;
    CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
    count_ = count;
  }

  T* get() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// One buffer per name, shared by all steps of a program.
DeviceBuffer<unsigned char>& scratch_buffer(const char* name);

#pragma GCC visibility pop
}  // namespace ladder

// Returns device memory for `count` elements, with undefined contents. It stays allocated, and the next call with the
// same T and Tag returns it again. A step that needs two buffers gives them tags: scratch<float, struct Partials>(n).
// The memory is on the device that was current first. Use it in one stream only: kernels in two streams would overwrite
// each other.
template <typename T, typename Tag = T>
T* scratch(std::size_t count) {
  static DeviceBuffer<unsigned char>& buffer = ladder::scratch_buffer(__PRETTY_FUNCTION__);
  buffer.reserve(count * sizeof(T));
  return reinterpret_cast<T*>(buffer.get());
}
