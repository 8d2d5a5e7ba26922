// kernel: gemv | X = k | Y = m | TO = i / k | FROM = i % k
// kernel: gemv_t | X = m | Y = k | TO = i % k | FROM = i / k
int main(int argc, char** argv) {
  const std::size_t m = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const std::size_t k = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4096;
  const float alpha = 2, beta = 0;  // the leading dimension is k: rows without gaps
  std::vector<float> h_A(m * k), h_x(X), h_y(Y);
  std::vector<double> want(Y), bound(Y);
  for (std::size_t i = 0; i < X; ++i) h_x[i] = static_cast<float>(i % 77) / 77 - 0.5f;
  for (std::size_t i = 0; i < m * k; ++i) {
    h_A[i] = static_cast<float>(i % 1009) / 1009 - 0.5f;
    const double product = static_cast<double>(alpha) * h_A[i] * h_x[FROM];
    want[TO] += product;
    bound[TO] += (X + 2) * 6e-8 * std::fabs(product);  // holds for any order of additions
  }

  float *A, *x, *y;
  CUDA_CHECK(cudaMalloc(&A, m * k * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&x, X * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&y, Y * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(A, h_A.data(), m * k * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(x, h_x.data(), X * sizeof(float), cudaMemcpyHostToDevice));
  launch(m, k, alpha, A, k, x, beta, y);
  CUDA_CHECK(cudaMemcpy(h_y.data(), y, Y * sizeof(float), cudaMemcpyDeviceToHost));
  const bool right = check(h_y, want, bound);

  // TIME: launch(m, k, alpha, A, k, x, beta, y); GB/s of 4.0 * (m * k + m + k)

  CUDA_CHECK(cudaFree(A));
  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  return right ? 0 : 1;
}
