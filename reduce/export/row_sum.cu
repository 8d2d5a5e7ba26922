// kernel: row_sum
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t n = rows * cols;
  std::vector<float> h_x(n), h_out(rows);
  std::vector<double> want(rows), bound(rows);
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i % 1009) / 1000 - 0.5f;
    want[i / cols] += h_x[i];
    bound[i / cols] += cols * 6e-8 * std::fabs(h_x[i]);  // holds for any order of additions
  }

  float *x, *out;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, rows * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, out, rows, cols);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, rows * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(x, out, rows, cols); GB/s of 4.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
