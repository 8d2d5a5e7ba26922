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
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// A CUDA call that failed. what() names the file, the line, the call and the runtime's message.
struct CudaError : std::runtime_error {
  CudaError(cudaError_t error, const char* call, const char* file, int line);
  cudaError_t code;
};

#pragma GCC visibility pop
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

// Floats before the first 16-byte boundary at or after p: 0 to 3. What a kernel peels off before it reads float4.
__host__ __device__ inline unsigned floats_to_boundary(const float* p) {
  return static_cast<unsigned>((0 - reinterpret_cast<std::uintptr_t>(p) / sizeof(float)) % 4);
}

// A property of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

inline int sm_count() { return device_attribute(cudaDevAttrMultiProcessorCount); }

inline std::size_t l2_bytes() { return device_attribute(cudaDevAttrL2CacheSize); }

// Bytes per second between DRAM and the chip, by the memory's clock (in kHz, two transfers a clock) and its width in
// bits. Kernels reach some 0.9 of it.
inline double dram_bandwidth() {
  return 2e3 * device_attribute(cudaDevAttrMemoryClockRate) * device_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
}

// How many blocks of `kernel` the current device holds at once: those of one SM, which its registers, shared memory and
// threads limit (2048 on sm_90, 1536 on sm_86, 1024 on sm_75), times the SMs.
template <typename... Arguments>
std::size_t resident_blocks(void (*kernel)(Arguments...), int block_size, std::size_t dynamic_shared = 0) {
  int per_sm = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, block_size, dynamic_shared));
  return static_cast<std::size_t>(per_sm) * sm_count();
}

// Should a kernel read `bytes` of input with evict-first loads (__ldcs)? They do not displace what other kernels left
// in L2. An input of many times the size of L2 displaces all of it in any case.
inline bool evict_first_pays(std::size_t bytes) { return bytes <= 8 * l2_bytes(); }

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

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// One of each name for all steps of a program, or each step would hold its own on the device.
DeviceBuffer<unsigned char>& scratch_buffer(const char* name);

#pragma GCC visibility pop
}  // namespace ladder

// Device memory for `count` elements that stays allocated for the next call, from anywhere, with the same T and Tag. Its
// contents are undefined. A step that needs two at a time gives them tags: scratch<float, struct Partials>(n). The memory
// is that of the device that was current first, for one stream: kernels in two streams would overwrite each other's.
template <typename T, typename Tag = T>
T* scratch(std::size_t count) {
  static DeviceBuffer<unsigned char>& buffer = ladder::scratch_buffer(__PRETTY_FUNCTION__);
  buffer.reserve(count * sizeof(T));
  return reinterpret_cast<T*>(buffer.get());
}
