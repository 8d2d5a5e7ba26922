// kernel: overlap
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const std::size_t bytes = n * sizeof(int);
  int *x, *y;  // in pinned host memory; the step brings them to the device and back
  CUDA_CHECK(cudaMallocHost(&x, bytes));
  CUDA_CHECK(cudaMallocHost(&y, bytes));
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<int>(i * 2654435761u);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) want[i] = static_cast<int>(overlap_mix(static_cast<unsigned>(x[i])));

  launch(x, y, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  const bool right = check(std::vector<int>(y, y + n), want, bound);

  // TIME: launch(x, y, n); GB/s of 8.0 * n

  CUDA_CHECK(cudaFreeHost(x));
  CUDA_CHECK(cudaFreeHost(y));
  return right ? 0 : 1;
}
