// Launches of kernels whose blocks work in clusters (sm_90).
#pragma once
#include "cuda_helpers.cuh"

// A kernel to be launched in clusters of `cluster` blocks of `block` threads, with `shared` bytes for each block.
template <typename... Parameters>
class ClusterLaunch {
 public:
  ClusterLaunch(void (*kernel)(Parameters...), unsigned cluster, unsigned block, std::size_t shared) : kernel_(kernel) {
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {cluster, 1, 1};
    config_ = {cluster, block, shared, nullptr, &attribute_, 1};
    // more than 48 KB of dynamic shared memory and clusters of more than 8 blocks must be asked for
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    if (cluster > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  ClusterLaunch(const ClusterLaunch&) = delete;  // config_ points to attribute_

  // How many clusters the GPU has room for at once.
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
