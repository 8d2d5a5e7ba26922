// kernel: l2_window
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 26;
  const std::size_t m = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1 << 23;
  std::vector<float> h_x(n), h_table(m), h_y(n);
  std::vector<double> want(n), bound(n, 0.0);  // one rounding: equal to the host's sum
  for (std::size_t k = 0; k < m; ++k) h_table[k] = static_cast<float>(k % 77) / 3;
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1000) / 7;
    want[i] = h_x[i] + h_table[slot(i, m)];
  }

  float *x, *table, *y;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&table, m * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&y, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(table, h_table.data(), m * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, table, y, n, m);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(x, table, y, n, m); GB/s of 8.0 * n + 4.0 * m

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(table));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
