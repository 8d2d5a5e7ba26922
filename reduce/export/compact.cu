// kernel: compact
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  std::vector<float> h_x(n), kept;
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i * 7919 % 1000) - 500;
    if (h_x[i] > 0) kept.push_back(h_x[i]);
  }

  float *x, *out;
  std::int64_t *count, h_count;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&count, sizeof(std::int64_t)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, out, count, n);
  CUDA_CHECK(cudaMemcpy(&h_count, count, sizeof h_count, cudaMemcpyDeviceToHost));
  std::vector<float> h_out(n);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  bool right = h_count == static_cast<std::int64_t>(kept.size());
  if (!right) std::printf("FAIL: count is %lld, want %zu\n", static_cast<long long>(h_count), kept.size());
  // Steps 01 to 04 keep no order, so the order is not checked here.
  std::sort(h_out.begin(), h_out.begin() + static_cast<std::ptrdiff_t>(kept.size()));
  std::sort(kept.begin(), kept.end());
  const std::vector<double> want(kept.begin(), kept.end()), bound(kept.size(), 0.0);
  right = right && check(h_out, want, bound);

  // TIME: launch(x, out, count, n); GB/s of 6.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(out));
  CUDA_CHECK(cudaFree(count));
  return right ? 0 : 1;
}
