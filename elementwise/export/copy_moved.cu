// kernel: copy_offset | INDEX = i + moved | MOVED = 1
// kernel: copy_stride | INDEX = i * moved | MOVED = 2
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  const std::size_t moved = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : MOVED;
  std::size_t i = n - 1;
  const std::size_t count = n == 0 ? 0 : INDEX + 1;  // of x
  std::vector<float> h_x(count), h_y(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (i = 0; i < count; ++i) h_x[i] = static_cast<float>(i % 1001);
  for (i = 0; i < n; ++i) want[i] = h_x[INDEX];

  float *x, *y;
  CUDA_CHECK(cudaMalloc(&x, count * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&y, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, y, n, moved);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(x, y, n, moved); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
