// kernel: top_k
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 512;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 50257;
  const std::size_t k = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 8;
  if (k > cols || k > 64) {
    std::fprintf(stderr, "k is at most the number of columns and at most 64\n");
    return 2;
  }
  const std::size_t n = rows * cols;
  std::vector<float> h_x(n);
  std::vector<int> h_indices(rows * k);
  std::vector<double> want(rows * k), bound(rows * k, 0.0);
  for (std::size_t i = 0; i < n; ++i) h_x[i] = static_cast<float>(i * 7919 % 10007);  // each value in many places
  std::vector<int> columns(cols);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* row = &h_x[r * cols];
    for (std::size_t c = 0; c < cols; ++c) columns[c] = static_cast<int>(c);
    std::partial_sort(columns.begin(), columns.begin() + k, columns.end(),
                      [&](int a, int b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    std::copy(columns.begin(), columns.begin() + k, want.begin() + r * k);
  }

  float *x, *values;
  int* indices;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&values, rows * k * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&indices, rows * k * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, values, indices, rows, cols, k);
  CUDA_CHECK(cudaMemcpy(h_indices.data(), indices, rows * k * sizeof(int), cudaMemcpyDeviceToHost));
  const bool right = check(h_indices, want, bound);

  // TIME: launch(x, values, indices, rows, cols, k); GB/s of 4.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(values));
  CUDA_CHECK(cudaFree(indices));
  return right ? 0 : 1;
}
