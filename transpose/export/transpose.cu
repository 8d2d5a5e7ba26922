// kernel: transpose | PLACE = c * rows + r | SIZES = in, out, rows, cols
// kernel: copy_row | PLACE = r * cols + c | SIZES = in, out, rows, cols
// kernel: copy_col | PLACE = r * cols + c | SIZES = in, out, rows, cols
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t cols = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const std::size_t n = rows * cols;
  std::vector<float> h_in(n), h_out(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) h_in[i] = static_cast<float>(i % 16777213);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) want[PLACE] = h_in[r * cols + c];
  }

  float *in, *out;
  CUDA_CHECK(cudaMalloc(&in, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(in, h_in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(SIZES);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(SIZES); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
