// kernel: gemm_bf16
int main(int argc, char** argv) {
  const std::size_t M = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
  const std::size_t N = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024;
  const std::size_t K = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1024;
  const float alpha = 2, beta = 0;  // leading dimensions are K, N, N: rows without gaps
  std::vector<__nv_bfloat16> h_A(M * K), h_B(K * N), h_C(M * N);
  std::vector<float> got(M * N);
  std::vector<double> want(M * N), bound(M * N);
  for (std::size_t i = 0; i < M * K; ++i) h_A[i] = __float2bfloat16(static_cast<float>(i % 1009) / 1009 - 0.5f);
  for (std::size_t i = 0; i < K * N; ++i) h_B[i] = __float2bfloat16(static_cast<float>(i % 77) / 77 - 0.5f);
  for (std::size_t row = 0; row < M; ++row) {
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t col = 0; col < N; ++col) {
        const double product =
            static_cast<double>(alpha) * __bfloat162float(h_A[row * K + k]) * __bfloat162float(h_B[k * N + col]);
        want[row * N + col] += product;
        bound[row * N + col] += (2.5 * K + 6) * 6e-8 * std::fabs(product);  // of the FP32 sum
      }
    }
  }
  for (std::size_t i = 0; i < M * N; ++i) bound[i] = bound[i] * 1.004 + 0.004 * std::fabs(want[i]);  // C has 8 bits

  __nv_bfloat16 *A, *B, *C;
  CUDA_CHECK(cudaMalloc(&A, M * K * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMalloc(&B, K * N * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMalloc(&C, M * N * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMemcpy(A, h_A.data(), M * K * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(B, h_B.data(), K * N * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice));
  launch(M, N, K, alpha, A, K, B, N, beta, C, N);
  CUDA_CHECK(cudaMemcpy(h_C.data(), C, M * N * sizeof(__nv_bfloat16), cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < M * N; ++i) got[i] = __bfloat162float(h_C[i]);
  const bool right = check(got, want, bound);

  // TIME: launch(M, N, K, alpha, A, K, B, N, beta, C, N); TFLOP/s of 2.0 * M * N * K

  CUDA_CHECK(cudaFree(A));
  CUDA_CHECK(cudaFree(B));
  CUDA_CHECK(cudaFree(C));
  return right ? 0 : 1;
}
