// kernel: transpose_inplace
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t bytes = n * n * sizeof(float);
  std::vector<float> h_a(n * n);
  std::vector<double> want(n * n), bound(n * n, 0.0);
  for (std::size_t i = 0; i < n * n; ++i) {
    h_a[i] = static_cast<float>(i % 16777213);
    want[i % n * n + i / n] = h_a[i];
  }

  float* a;
  CUDA_CHECK(cudaMalloc(&a, bytes));
  CUDA_CHECK(cudaMemcpy(a, h_a.data(), bytes, cudaMemcpyHostToDevice));
  launch(a, n);
  CUDA_CHECK(cudaMemcpy(h_a.data(), a, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_a, want, bound);

  // TIME: launch(a, n); GB/s of 8.0 * n * n

  CUDA_CHECK(cudaFree(a));
  return right ? 0 : 1;
}
