// kernel: dot
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  std::vector<float> h_x(n), h_y(n), h_out(1);
  std::vector<double> want(1), bound(1);
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1000) / 1000 - 0.5f;
    h_y[i] = static_cast<float>(i % 77) / 77;
    const double product = static_cast<double>(h_x[i]) * h_y[i];
    want[0] += product;
    bound[0] += (n + 1) * 6e-8 * std::fabs(product);  // holds for any order of additions
  }

  float *x, *y, *out;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&y, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(y, h_y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, y, out, n);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(x, y, out, n); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
