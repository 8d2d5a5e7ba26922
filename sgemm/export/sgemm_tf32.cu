// kernel: sgemm_tf32
int main(int argc, char** argv) {
  const std::size_t M = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
  const std::size_t N = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024;
  const std::size_t K = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1024;
  const float alpha = 2, beta = 0;  // leading dimensions are K, N, N: rows without gaps
  std::vector<float> h_A(M * K), h_B(K * N), h_C(M * N);
  std::vector<double> want(M * N), bound(M * N);
  for (std::size_t i = 0; i < M * K; ++i) h_A[i] = static_cast<float>(i % 1009) / 1009 - 0.5f;
  for (std::size_t i = 0; i < K * N; ++i) h_B[i] = static_cast<float>(i % 77) / 77 - 0.5f;
  for (std::size_t row = 0; row < M; ++row) {
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t col = 0; col < N; ++col) {
        const double product = static_cast<double>(alpha) * h_A[row * K + k] * h_B[k * N + col];
        want[row * N + col] += product;
        bound[row * N + col] += (2.01e-3 + (2.5 * K + 6) * 6e-8) * std::fabs(product);  // TF32 has 11 bits
      }
    }
  }

  float *A, *B, *C;
  CUDA_CHECK(cudaMalloc(&A, M * K * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&B, K * N * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&C, M * N * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(A, h_A.data(), M * K * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(B, h_B.data(), K * N * sizeof(float), cudaMemcpyHostToDevice));
  launch(M, N, K, alpha, A, K, B, N, beta, C, N);
  CUDA_CHECK(cudaMemcpy(h_C.data(), C, M * N * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_C, want, bound);

  // TIME: launch(M, N, K, alpha, A, K, B, N, beta, C, N); TFLOP/s of 2.0 * M * N * K

  CUDA_CHECK(cudaFree(A));
  CUDA_CHECK(cudaFree(B));
  CUDA_CHECK(cudaFree(C));
  return right ? 0 : 1;
}
