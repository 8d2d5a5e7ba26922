// kernel: stencil1d
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const std::size_t bytes = n * sizeof(float);
  const std::vector<float> h_c = {4.0f / 5, -1.0f / 5, 4.0f / 105, -1.0f / 280};
  std::vector<float> h_f(n), h_d(n);
  std::vector<double> want(n), bound(n);
  for (std::size_t i = 0; i < n; ++i) h_f[i] = static_cast<float>(i % 1009) / 100;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 1; k <= h_c.size(); ++k) {
      const double right = i + k < n ? h_f[i + k] : 0, left = i >= k ? h_f[i - k] : 0;  // 0 outside
      want[i] += h_c[k - 1] * (right - left);
      bound[i] += 8 * 6e-8 * std::fabs(h_c[k - 1]) * (std::fabs(right) + std::fabs(left));
    }
  }

  float *f, *c, *d;
  CUDA_CHECK(cudaMalloc(&f, bytes));
  CUDA_CHECK(cudaMalloc(&c, h_c.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d, bytes));
  CUDA_CHECK(cudaMemcpy(f, h_f.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(c, h_c.data(), h_c.size() * sizeof(float), cudaMemcpyHostToDevice));
  launch(f, c, d, n);
  CUDA_CHECK(cudaMemcpy(h_d.data(), d, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_d, want, bound);

  // TIME: launch(f, c, d, n); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(f));
  CUDA_CHECK(cudaFree(c));
  CUDA_CHECK(cudaFree(d));
  return right ? 0 : 1;
}
