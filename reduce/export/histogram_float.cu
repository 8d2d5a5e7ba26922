// kernel: histogram_float
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const int bins = argc > 2 ? std::atoi(argv[2]) : 256;
  std::vector<float> h_x(n);
  std::vector<int> h_counts(bins);
  std::vector<double> want(bins), bound(bins, 0.0);
  const float scale = bins / 2.0f;
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i * 7919 % 10007) / 4096 - 1.25f;
    if (h_x[i] >= -1 && h_x[i] < 1) want[std::min(static_cast<int>((h_x[i] + 1) * scale), bins - 1)] += 1;
  }

  float* x;
  int* counts;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&counts, bins * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, counts, n, bins, -1, 1);
  CUDA_CHECK(cudaMemcpy(h_counts.data(), counts, bins * sizeof(int), cudaMemcpyDeviceToHost));
  const bool right = check(h_counts, want, bound);

  // TIME: launch(x, counts, n, bins, -1, 1); GB/s of 4.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(counts));
  return right ? 0 : 1;
}
