// CUDA arrays of float with their texture and surface objects, cached between launches.
#pragma once
#include "ladder.cuh"

// An image in a CUDA array. Its layout is opaque: neighbours in both directions are close in memory. A kernel reads it
// through `texture`, which clamps and filters linearly, and writes it through `surface`.
struct FilteredArray {
  cudaArray_t array = nullptr;
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;
  std::size_t rows = 0, cols = 0;
};

// Returns an array of this size, with undefined contents; the last one is cached. Use it in one stream only, with the
// same `normalised` in all calls. normalised: texture coordinates run from 0 to 1 across the image.
static inline const FilteredArray& filtered_array(std::size_t rows, std::size_t cols, bool normalised = false) {
  static FilteredArray kept;
  if (kept.rows == rows && kept.cols == cols) return kept;
  if (kept.array) {
    CUDA_CHECK(cudaDeviceSynchronize());  // a kernel may still use it
    CUDA_CHECK(cudaDestroySurfaceObject(kept.surface));
    CUDA_CHECK(cudaDestroyTextureObject(kept.texture));
    CUDA_CHECK(cudaFreeArray(std::exchange(kept, {}).array));
  }
  const cudaChannelFormatDesc one_float = cudaCreateChannelDesc<float>();
  FilteredArray made;
  CUDA_CHECK(cudaMallocArray(&made.array, &one_float, cols, rows, cudaArraySurfaceLoadStore));
  cudaResourceDesc image = {};
  image.resType = cudaResourceTypeArray;
  image.res.array.array = made.array;
  cudaTextureDesc access = {};
  access.addressMode[0] = access.addressMode[1] = cudaAddressModeClamp;
  access.filterMode = cudaFilterModeLinear;
  access.readMode = cudaReadModeElementType;
  access.normalizedCoords = normalised;
  CUDA_CHECK(cudaCreateTextureObject(&made.texture, &image, &access, nullptr));
  CUDA_CHECK(cudaCreateSurfaceObject(&made.surface, &image));
  made.rows = rows;
  made.cols = cols;
  return kept = made;
}
