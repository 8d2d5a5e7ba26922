// kernel: lanes
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  const std::size_t bytes = n * sizeof(int);
  std::vector<int> h_x(n), h_y(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) h_x[i] = static_cast<int>(i * 2654435761u);
  for (std::size_t first = 0; first < n; first += kGroup) {
    const std::size_t width = std::min<std::size_t>(kGroup, n - first);
    std::vector<unsigned> group(h_x.begin() + first, h_x.begin() + first + width);
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<unsigned> before = group;
      for (std::size_t k = 0; k < width; ++k) {
        group[k] = mix(before[(k + 1) % width], before[(k ^ 1) < width ? k ^ 1 : k], before[0]);
      }
    }
    for (std::size_t k = 0; k < width; ++k) want[first + k] = static_cast<int>(group[k]);
  }

  int *x, *y;
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
