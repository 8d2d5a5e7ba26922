// kernel: block_shape
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t width = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 32, height = 256 / width;
  const std::size_t n = rows * cols, bytes = n * sizeof(float);
  std::vector<float> h_x(n), h_y(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1001);
    want[i] = 2.0 * h_x[i];
  }

  float *x, *y;
  CUDA_CHECK(cudaMalloc(&x, bytes));
  CUDA_CHECK(cudaMalloc(&y, bytes));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), bytes, cudaMemcpyHostToDevice));
  launch(x, y, rows, cols, width, height);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(x, y, rows, cols, width, height); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
