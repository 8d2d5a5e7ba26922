// Ceiling of steps that copy data to the device and back: the host link, used in both directions at once.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <cstring>
#include <memory>

// Copies half of `bytes` to the device and, at the same time, the other half to the host, in pinned memory.
class HostLink : public ladder::OwnCeiling {
 public:
  explicit HostLink(double bytes) : half_(static_cast<std::size_t>(bytes) / 2), device_(2 * half_) {
    CUDA_CHECK(cudaMallocHost(&host_, std::max<std::size_t>(2 * half_, 1)));
    std::memset(host_, 0x3e, 2 * half_);
    // Blocking streams: they and the default stream, where the timing events are recorded, wait for each other.
    for (cudaStream_t& stream : streams_) CUDA_CHECK(cudaStreamCreate(&stream));
  }
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;
  ~HostLink() override {
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    cudaFreeHost(host_);
  }

  void run() const override {
    unsigned char* host = static_cast<unsigned char*>(host_);
    CUDA_CHECK(cudaMemcpyAsync(device_.get(), host, half_, cudaMemcpyHostToDevice, streams_[0]));
    CUDA_CHECK(cudaMemcpyAsync(host + half_, device_.get() + half_, half_, cudaMemcpyDeviceToHost, streams_[1]));
  }

 private:
  std::size_t half_;
  DeviceBuffer<unsigned char> device_;
  void* host_ = nullptr;
  cudaStream_t streams_[2] = {};
};
