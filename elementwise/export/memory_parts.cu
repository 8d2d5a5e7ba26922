// step: memory_01_pageable | GET = get_pageable | FREE = free_pageable | ALLOCATE = scratch<float>(n) | RELEASE = static_cast<void>(z)
// step: memory_02_pinned | GET = cudaMallocHost | FREE = cudaFreeHost | ALLOCATE = scratch<float>(n) | RELEASE = static_cast<void>(z)
// step: memory_06_stream_ordered | GET = cudaMallocHost | FREE = cudaFreeHost | ALLOCATE = allocate(n) | RELEASE = release(z)
template <typename T>
cudaError_t get_pageable(T** pointer, std::size_t bytes) {
  *pointer = static_cast<T*>(std::malloc(bytes));
  return *pointer || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

template <typename T>
cudaError_t free_pageable(T* pointer) {
  std::free(pointer);
  return cudaSuccess;
}

// To the device, doubled there, and back.
static void double_on_device(const float* x, float* y, std::size_t n) {
  float* z = ALLOCATE;
  copy_in(x, z, n);
  memory_double<<<ceil_div(n, 256), 256>>>(z, n);
  CUDA_CHECK(cudaGetLastError());
  copy_out(z, y, n);
  RELEASE;
}

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  float *x, *y;  // host memory of the step's kind; y = 2 x
  CUDA_CHECK(GET(&x, n * sizeof(float)));
  CUDA_CHECK(GET(&y, n * sizeof(float)));
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 1001);
    want[i] = 2.0 * x[i];
  }

  double_on_device(x, y, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  const bool right = check(std::vector<float>(y, y + n), want, bound);

  // TIME: double_on_device(x, y, n); GB/s of 8.0 * n

  CUDA_CHECK(FREE(x));
  CUDA_CHECK(FREE(y));
  return right ? 0 : 1;
}
