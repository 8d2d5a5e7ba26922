// kernel: max | TYPE = float | VALUE = h_x[at]
// kernel: argmax | TYPE = std::int64_t | VALUE = static_cast<double>(at)
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  std::vector<float> h_x(n);
  std::size_t at = 0;  // of the first maximum
  for (std::size_t i = 0; i < n; ++i) {
    h_x[i] = static_cast<float>(i * 7919 % 100003) - 200000;
    if (h_x[i] > h_x[at]) at = i;
  }
  std::vector<TYPE> h_out(1);
  const std::vector<double> want = {VALUE}, bound = {0};

  float* x;
  TYPE* out;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, sizeof(TYPE)));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(x, out, n);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, sizeof(TYPE), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(x, out, n); GB/s of 4.0 * n

  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
