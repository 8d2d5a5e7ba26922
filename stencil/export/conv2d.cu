// kernel: conv2d
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t n = rows * cols, bytes = n * sizeof(float);
  std::vector<float> h_in(n), h_out(n);
  std::vector<double> want(n), bound(n);
  for (std::size_t i = 0; i < n; ++i) h_in[i] = static_cast<float>(i % 1009) / 100;
  constexpr int k = 3;  // or 5, or 7
  std::vector<float> h_w(k * k);
  for (int i = 0; i < k * k; ++i) h_w[i] = static_cast<float>(i + 1) / (k * k);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) {
          const std::size_t y = r + i - k / 2, x = c + j - k / 2;  // wraps around below 0, and is outside then
          if (y >= rows || x >= cols) continue;                    // 0 outside the image
          want[r * cols + c] += static_cast<double>(h_w[i * k + j]) * h_in[y * cols + x];
        }
      }
      bound[r * cols + c] = k * k * 6e-8 * want[r * cols + c];  // all terms are positive
    }
  }
  float* w;
  CUDA_CHECK(cudaMalloc(&w, h_w.size() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(w, h_w.data(), h_w.size() * sizeof(float), cudaMemcpyHostToDevice));

  float *in, *out;
  CUDA_CHECK(cudaMalloc(&in, bytes));
  CUDA_CHECK(cudaMalloc(&out, bytes));
  CUDA_CHECK(cudaMemcpy(in, h_in.data(), bytes, cudaMemcpyHostToDevice));
  launch(in, w, out, rows, cols, k);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(in, w, out, rows, cols, k); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(w));
  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
