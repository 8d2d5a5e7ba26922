// kernel: sum_of_squares
struct SumOfSquares {
  static constexpr unsigned kMostBlocks = 1024;
};

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  std::vector<int> h_x(n);
  std::vector<std::int64_t> h_out(1);
  std::vector<double> want(1), bound(1);
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<int>(i % 1000) - 500;
    want[0] += static_cast<double>(h_x[i]) * h_x[i];
  }

  int* x;
  std::int64_t *out, *clocks;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&out, sizeof(std::int64_t)));
  CUDA_CHECK(cudaMalloc(&clocks, SumOfSquares::kMostBlocks * sizeof(std::int64_t)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  launch(x, out, clocks, n);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, sizeof(std::int64_t), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(x, out, clocks, n); GB/s of 4.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(out));
  CUDA_CHECK(cudaFree(clocks));
  return right ? 0 : 1;
}
