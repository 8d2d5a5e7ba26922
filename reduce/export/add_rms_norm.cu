// kernel: add_rms_norm
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t n = rows * cols;
  const float epsilon = 1e-5f;
  std::vector<float> h_x(n), h_residual(n), h_gamma(cols), h_y(n);
  std::vector<double> want(n), bound(n);
  for (std::size_t c = 0; c < cols; ++c) h_gamma[c] = static_cast<float>(c % 17) / 8 - 1;
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1009) / 1000 - 0.5f;
    h_residual[i] = static_cast<float>(i % 773) / 500 - 0.7f;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < cols; ++c) squares += std::pow(h_x[r * cols + c] + h_residual[r * cols + c], 2);
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t i = r * cols + c;
      const float sum = h_x[i] + h_residual[i];
      want[i] = sum / std::sqrt(squares / static_cast<double>(cols) + epsilon) * h_gamma[c];
      bound[i] = (cols + 20) * 6e-8 * std::fabs(want[i]) + 1e-38;  // holds for any order of additions
    }
  }

  float *x, *residual, *gamma, *y;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&residual, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&gamma, cols * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&y, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(residual, h_residual.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(gamma, h_gamma.data(), cols * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, gamma, residual, y, rows, cols, epsilon);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(x, gamma, residual, y, rows, cols, epsilon); GB/s of 16.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(residual));
  CUDA_CHECK(cudaFree(gamma));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
