// kernel: aat
int main(int argc, char** argv) {
  const std::size_t M = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2048;
  const std::size_t K = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 32;
  std::vector<float> h_A(M * K), h_C(M * M);
  std::vector<double> want(M * M), bound(M * M);
  for (std::size_t i = 0; i < M * K; ++i) h_A[i] = static_cast<float>(i % 1009) / 1009 - 0.5f;
  for (std::size_t row = 0; row < M; ++row) {
    for (std::size_t col = 0; col < M; ++col) {
      for (std::size_t k = 0; k < K; ++k) {
        const double product = static_cast<double>(h_A[row * K + k]) * h_A[col * K + k];
        want[row * M + col] += product;
        bound[row * M + col] += K * 6e-8 * std::fabs(product);  // holds for any order of additions
      }
    }
  }

  float *A, *C;
  CUDA_CHECK(cudaMalloc(&A, M * K * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&C, M * M * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(A, h_A.data(), M * K * sizeof(float), cudaMemcpyHostToDevice));
  launch(M, K, A, C);
  CUDA_CHECK(cudaMemcpy(h_C.data(), C, M * M * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_C, want, bound);

  // TIME: launch(M, K, A, C); GB/s of 4.0 * (M * K + M * M)

  CUDA_CHECK(cudaFree(A));
  CUDA_CHECK(cudaFree(C));
  return right ? 0 : 1;
}
