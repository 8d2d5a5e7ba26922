// kernel: softmax | DEFAULT_ROWS = 1 | DEFAULT_COLS = 1 << 24 | VECTORS = 1 | LENGTH = n | AT = v + j | SIZES = x, y, n
// kernel: row_softmax | DEFAULT_ROWS = 16384 | DEFAULT_COLS = 1024 | VECTORS = rows | LENGTH = cols | AT = v * cols + j | SIZES = x, y, rows, cols
// kernel: col_softmax | DEFAULT_ROWS = 4096 | DEFAULT_COLS = 4096 | VECTORS = cols | LENGTH = rows | AT = j * cols + v | SIZES = x, y, rows, cols
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : DEFAULT_ROWS;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : DEFAULT_COLS;
  const std::size_t n = rows * cols, vectors = VECTORS, length = LENGTH;
  std::vector<float> h_x(n), h_y(n);
  std::vector<double> want(n), bound(n);
  for (std::size_t i = 0; i < n; ++i) h_x[i] = static_cast<float>(i * 7919 % 1009) / 100;
  for (std::size_t v = 0; v < vectors; ++v) {
    double sum = 0;
    for (std::size_t j = 0; j < length; ++j) sum += std::exp(static_cast<double>(h_x[AT]));
    for (std::size_t j = 0; j < length; ++j) {
      want[AT] = std::exp(static_cast<double>(h_x[AT])) / sum;
      bound[AT] = (1e-5 + length * 1.2e-7) * want[AT];
    }
  }

  float *x, *y;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&y, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(SIZES);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(SIZES); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
