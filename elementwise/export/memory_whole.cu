// step: memory_03_zero_copy | GET = cudaMallocHost | FREE = cudaFreeHost
// step: memory_04_managed | GET = cudaMallocManaged | FREE = cudaFree
// step: memory_05_managed_prefetch | GET = cudaMallocManaged | FREE = cudaFree
// step: memory_07_pitched | GET = cudaMallocHost | FREE = cudaFreeHost
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

  whole(x, y, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  const bool right = check(std::vector<float>(y, y + n), want, bound);

  // TIME: whole(x, y, n); GB/s of 8.0 * n

  CUDA_CHECK(FREE(x));
  CUDA_CHECK(FREE(y));
  return right ? 0 : 1;
}
