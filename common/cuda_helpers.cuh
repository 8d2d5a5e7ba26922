// CUDA basics that every step uses: error checking, ceil_div, device memory with an owner.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace ladder {

// A CUDA call that failed. what() names the file, the line, the call and the runtime's message.
struct CudaError : std::runtime_error {
  CudaError(cudaError_t error, const char* call, const char* file, int line)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")"),
        code(error) {}
  cudaError_t code;
};

}  // namespace ladder

// Throws ladder::CudaError unless `call` returns cudaSuccess. After a launch: CUDA_CHECK(cudaGetLastError());
#define CUDA_CHECK(call)                                                                                       \
  do {                                                                                                         \
    const cudaError_t cuda_check_error = (call);                                                               \
    if (cuda_check_error != cudaSuccess) throw ladder::CudaError(cuda_check_error, #call, __FILE__, __LINE__); \
  } while (0)

// ceil(a / b) for whole numbers; a + b must not overflow.
template <typename A, typename B>
__host__ __device__ constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

// Are all pointers aligned for accesses of type V (float4: multiples of 16 bytes)?
template <typename V, typename... T>
bool aligned_for(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % alignof(V) == 0) && ...);
}

// Multiprocessors of the current device.
inline int sm_count() {
  static const int count = [] {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    return value;
  }();
  return count;
}

// Uninitialised device memory for `count` elements, freed with its owner.
template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count = 0) { reserve(count); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  // Makes room for at least `count` elements. If it has to grow, the contents are lost.
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

// Device memory for `count` elements that stays allocated for the next call, from anywhere, with the same T and Tag. Its
// contents are undefined. A step that needs two at a time gives them tags: scratch<float, struct Parts>(n).
template <typename T, typename Tag = T>
T* scratch(std::size_t count) {
  static DeviceBuffer<T> buffer;
  buffer.reserve(count);
  return buffer.get();
}
