// kernel: add
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const std::size_t bytes = n * sizeof(float);

  // Inputs and the right answer on the host.
  std::vector<float> h_a(n), h_b(n), h_c(n);
  std::vector<double> want(n), bound(n, 0.0);  // one rounding: equal to the host's sum
  for (std::size_t i = 0; i < n; ++i) {
    h_a[i] = static_cast<float>(i % 1000) / 7;
    h_b[i] = static_cast<float>(i % 77) / 3;
    want[i] = h_a[i] + h_b[i];
  }

  // Allocate, copy in, launch, copy back.
  float *a, *b, *c;
  CUDA_CHECK(cudaMalloc(&a, bytes));
  CUDA_CHECK(cudaMalloc(&b, bytes));
  CUDA_CHECK(cudaMalloc(&c, bytes));
  CUDA_CHECK(cudaMemcpy(a, h_a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(b, h_b.data(), bytes, cudaMemcpyHostToDevice));
  launch(a, b, c, n);
  CUDA_CHECK(cudaMemcpy(h_c.data(), c, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_c, want, bound);

  // TIME: launch(a, b, c, n); GB/s of 12.0 * n

  CUDA_CHECK(cudaFree(a));
  CUDA_CHECK(cudaFree(b));
  CUDA_CHECK(cudaFree(c));
  return right ? 0 : 1;
}
