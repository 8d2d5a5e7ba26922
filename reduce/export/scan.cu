// kernel: scan
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const bool exclusive = argc > 2 && std::strtol(argv[2], nullptr, 10) != 0;
  std::vector<float> h_x(n), h_out(n);
  std::vector<double> want(n), bound(n);
  double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1000) / 1000 - 0.5f;
    if (exclusive) want[i] = sum, bound[i] = n * 6e-8 * magnitude;
    sum += h_x[i];
    magnitude += std::fabs(h_x[i]);
    if (!exclusive) want[i] = sum, bound[i] = n * 6e-8 * magnitude;  // holds for any order of additions
  }

  float *x, *out;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, out, n, exclusive);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(x, out, n, exclusive); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
