// Helpers of the emulator's own tests. Everything here also compiles with nvcc.
#pragma once
#include "catch.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#define REQUIRE_CUDA(call) REQUIRE(std::string(cudaGetErrorString(call)) == cudaGetErrorString(cudaSuccess))

// Device memory with the contents of a vector.
template <class T>
class DeviceVector {
 public:
  explicit DeviceVector(const std::vector<T>& values) : size_(values.size()) {
    REQUIRE_CUDA(cudaMalloc(&data_, size_ * sizeof(T)));
    REQUIRE_CUDA(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  explicit DeviceVector(std::size_t size, T value = {}) : DeviceVector(std::vector<T>(size, value)) {}
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() { return data_; }
  // Waits for the earlier kernels, and requires that they succeeded.
  std::vector<T> get() const {
    REQUIRE_CUDA(cudaGetLastError());
    REQUIRE_CUDA(cudaDeviceSynchronize());
    std::vector<T> values(size_);
    REQUIRE_CUDA(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// Uniform random numbers in [low, high], the same in every run.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int operator()(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

 private:
  std::mt19937 engine_;
};
