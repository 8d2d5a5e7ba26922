// kernel: quantize
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t n = rows * cols;
  std::vector<float> h_x(n), got(n);
  std::vector<std::int8_t> h_q(n);
  std::vector<double> want(n), bound(n);
  for (std::size_t i = 0; i < n; ++i) h_x[i] = static_cast<float>(i % 1009) / 100 - 5;
  for (std::size_t r = 0; r < rows; ++r) {
    float most = 0;
    for (std::size_t c = 0; c < cols; ++c) most = std::fmax(most, std::fabs(h_x[r * cols + c]));
    const float scale = most / 127.0f;
    for (std::size_t i = r * cols; i < (r + 1) * cols; ++i) {
      want[i] = scale == 0 ? 0 : static_cast<double>(h_x[i]) / scale;
      bound[i] = 0.5 + std::fabs(want[i]) * 3 * 6e-8;  // half a unit, and the division's roundings
    }
  }

  float *x, *scale;
  std::int8_t* q;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&q, n));
  CUDA_CHECK(cudaMalloc(&scale, rows * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, q, scale, rows, cols);
  CUDA_CHECK(cudaMemcpy(h_q.data(), q, n, cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < n; ++i) got[i] = h_q[i];
  const bool right = check(got, want, bound);

  // TIME: launch(x, q, scale, rows, cols); GB/s of 5.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(q));
  CUDA_CHECK(cudaFree(scale));
  return right ? 0 : 1;
}
