// kernel: add_half2
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const std::size_t bytes = n * sizeof(__half);
  std::vector<__half> h_a(n), h_b(n), h_c(n);
  std::vector<float> got(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    h_a[i] = __float2half(static_cast<float>(i % 100) / 8);  // exact in half, and so are the sums
    h_b[i] = __float2half(static_cast<float>(i % 7));
    want[i] = static_cast<double>(__half2float(h_a[i])) + __half2float(h_b[i]);
  }

  __half *a, *b, *c;
  CUDA_CHECK(cudaMalloc(&a, bytes));
  CUDA_CHECK(cudaMalloc(&b, bytes));
  CUDA_CHECK(cudaMalloc(&c, bytes));
  CUDA_CHECK(cudaMemcpy(a, h_a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(b, h_b.data(), bytes, cudaMemcpyHostToDevice));
  launch(a, b, c, n);
  CUDA_CHECK(cudaMemcpy(h_c.data(), c, bytes, cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < n; ++i) got[i] = __half2float(h_c[i]);
  const bool right = check(got, want, bound);

  // TIME: launch(a, b, c, n); GB/s of 6.0 * n

  CUDA_CHECK(cudaFree(a));
  CUDA_CHECK(cudaFree(b));
  CUDA_CHECK(cudaFree(c));
  return right ? 0 : 1;
}
