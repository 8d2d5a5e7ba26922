// kernel: sum
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  std::vector<float> h_x(n), h_out(1);
  std::vector<double> want(1), bound(1);
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1000) / 1000 - 0.5f;
    want[0] += h_x[i];
    bound[0] += n * 6e-8 * std::fabs(h_x[i]);  // holds for any order of additions
  }

  float *x, *out;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, out, n);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(x, out, n); GB/s of 4.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
