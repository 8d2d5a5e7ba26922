// kernel: vec3_norm
int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 24;
  // The same vectors in three layouts: packed (x y z x y z ...), padded to 16 bytes, and one array per component.
  std::vector<float> h_packed(3 * n), h_padded(4 * n), h_out(n);
  std::vector<float> h_component[3] = {std::vector<float>(n), std::vector<float>(n), std::vector<float>(n)};
  std::vector<double> want(n), bound(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const float value = static_cast<float>((i + c) % 100) - 50;
      h_packed[3 * i + c] = h_padded[4 * i + c] = h_component[c][i] = value;
      sum += static_cast<double>(value) * value;
    }
    want[i] = std::sqrt(sum);
    bound[i] = 2e-7 * want[i];
  }

  float *packed, *padded, *component[3], *out;
  CUDA_CHECK(cudaMalloc(&packed, 3 * n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&padded, 4 * n * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(packed, h_packed.data(), 3 * n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(padded, h_padded.data(), 4 * n * sizeof(float), cudaMemcpyHostToDevice));
  for (int c = 0; c < 3; ++c) {
    CUDA_CHECK(cudaMalloc(&component[c], n * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(component[c], h_component[c].data(), n * sizeof(float), cudaMemcpyHostToDevice));
  }
  const Vectors in = {packed, padded, component[0], component[1], component[2]};
  launch(in, out, n);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(in, out, n); GB/s of 16.0 * n

  CUDA_CHECK(cudaFree(packed));
  CUDA_CHECK(cudaFree(padded));
  for (float* p : component) CUDA_CHECK(cudaFree(p));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
