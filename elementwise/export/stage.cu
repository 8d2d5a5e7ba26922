// kernel: stage
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const std::size_t bytes = n * sizeof(float);
  std::vector<float> h_x(n), h_y(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) h_x[i] = static_cast<float>(i % 1001);
  for (std::size_t i = 0; i < n; ++i) {  // each tile reversed
    const std::size_t first = i / kTile * kTile, last = std::min(first + kTile, n) - 1;
    want[i] = h_x[first + last - i];
  }

  float *x, *y;
  CUDA_CHECK(cudaMalloc(&x, bytes));
  CUDA_CHECK(cudaMalloc(&y, bytes));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), bytes, cudaMemcpyHostToDevice));
  launch(x, y, n);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(x, y, n); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
