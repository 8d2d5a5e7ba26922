// kernel: histogram
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  std::vector<std::uint8_t> h_x(n);
  std::vector<int> h_counts(256);
  std::vector<double> want(256), bound(256, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
    want[h_x[i]] += 1;
  }

  std::uint8_t* x;
  int* counts;
  CUDA_CHECK(cudaMalloc(&x, n));
  CUDA_CHECK(cudaMalloc(&counts, 256 * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n, cudaMemcpyHostToDevice));
  launch(x, counts, n);
  CUDA_CHECK(cudaMemcpy(h_counts.data(), counts, 256 * sizeof(int), cudaMemcpyDeviceToHost));
  const bool right = check(h_counts, want, bound);

  // TIME: launch(x, counts, n); GB/s of 1.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(counts));
  return right ? 0 : 1;
}
