// kernel: bank_conflict
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;  // records of 32 floats
  const std::size_t n = rows * kFields;
  std::vector<float> h_in(n), h_out(n);
  std::vector<double> want(n), bound(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    h_in[i] = static_cast<float>(i % 16777213);
    want[i % kFields * rows + i / kFields] = h_in[i];
  }

  float *in, *out;
  CUDA_CHECK(cudaMalloc(&in, n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(in, h_in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  launch(in, out, rows);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(in, out, rows); GB/s of 8.0 * n

  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
