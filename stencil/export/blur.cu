// kernel: blur
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t n = rows * cols, bytes = n * sizeof(float);
  std::vector<float> h_in(n), h_out(n);
  std::vector<double> want(n), bound(n);
  for (std::size_t i = 0; i < n; ++i) h_in[i] = static_cast<float>(i % 1009) / 100;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols;
         ++c) {  // the window starts at the pixel and is clamped at the last row and column
      double sum = 0;
      for (std::size_t i = r; i < r + 3; ++i) {
        for (std::size_t j = c; j < c + 3; ++j) sum += h_in[std::min(i, rows - 1) * cols + std::min(j, cols - 1)];
      }
      want[r * cols + c] = sum / 9;
      bound[r * cols + c] = 1e-6 * sum;
    }
  }

  float *in, *out;
  CUDA_CHECK(cudaMalloc(&in, bytes));
  CUDA_CHECK(cudaMalloc(&out, bytes));
  CUDA_CHECK(cudaMemcpy(in, h_in.data(), bytes, cudaMemcpyHostToDevice));
  launch(in, out, rows, cols);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(in, out, rows, cols); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
