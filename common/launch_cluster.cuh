// Launches kernels in thread block clusters (sm_90).
#pragma once
#include "cuda_helpers.cuh"

// A launch in clusters of `cluster` blocks, with `block` threads and `shared` bytes of dynamic shared memory per block.
template <typename... Parameters>
class ClusterLaunch {
 public:
  ClusterLaunch(void (*kernel)(Parameters...), unsigned cluster, unsigned block, std::size_t shared) : kernel_(kernel) {
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {cluster, 1, 1};
    config_ = {cluster, block, shared, nullptr, &attribute_, 1};
    // required above 48 KB of dynamic shared memory, and above 8 blocks per cluster
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    if (cluster > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  ClusterLaunch(const ClusterLaunch&) = delete;  // config_ points to attribute_

  // Returns how many clusters can be resident on the GPU at once.
  unsigned resident() const {
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, kernel_, &config_));
    return static_cast<unsigned>(clusters);
  }

  void start(std::size_t clusters, Parameters... arguments) {
    config_.gridDim = static_cast<unsigned>(clusters * attribute_.val.clusterDim.x);
    CUDA_CHECK(cudaLaunchKernelEx(&config_, kernel_, arguments...));
  }

 private:
  void (*kernel_)(Parameters...);
  cudaLaunchAttribute attribute_ = {};
  cudaLaunchConfig_t config_ = {};
};
