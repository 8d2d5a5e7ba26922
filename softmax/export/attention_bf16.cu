// kernel: attention_bf16
int main(int argc, char** argv) {
  const std::size_t heads = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  const std::size_t queries = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2048;
  const std::size_t keys = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 2048;
  const int d = 64;
  const bool causal = true;  // query i attends to the keys j <= i + keys - queries
  const std::size_t size_q = heads * queries * d, size_k = heads * keys * d;
  std::vector<__nv_bfloat16> h_q(size_q), h_k(size_k), h_v(size_k), h_o(size_q);
  for (std::size_t i = 0; i < size_q; ++i) h_q[i] = __float2bfloat16(static_cast<float>(i * 7919 % 1009) / 250 - 2);
  for (std::size_t i = 0; i < size_k; ++i) {
    h_k[i] = __float2bfloat16(static_cast<float>(i * 104729 % 1013) / 500 - 1);
    h_v[i] = __float2bfloat16(static_cast<float>(i * 1299709 % 1019) / 500 - 1);
  }
  // One query of 64 where there are many.
  const std::size_t step = heads * queries * keys > std::size_t{1} << 24 ? 64 : 1;
  std::vector<double> want, bound, weight(keys);
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < heads * queries; row += step) {
    const __nv_bfloat16* k = h_k.data() + row / queries * keys * d;
    const __nv_bfloat16* v = h_v.data() + row / queries * keys * d;
    double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      double score = 0;
      for (int c = 0; c < d; ++c)
        score += static_cast<double>(__bfloat162float(h_q[row * d + c])) * __bfloat162float(k[j * d + c]);
      weight[j] = causal && j + queries > row % queries + keys ? 0 : std::exp(score / std::sqrt(d));
      sum += weight[j];
    }
    for (int c = 0; c < d; ++c) {
      double o = 0;
      for (std::size_t j = 0; j < keys; ++j) o += weight[j] * __bfloat162float(v[j * d + c]);
      want.push_back(sum == 0 ? 0 : o / sum);
      bound.push_back(
          sum == 0 ? 0 : 0.013 + keys * 1e-6);  // the weights and O are rounded to 8 bits, |V| is about 1 at most
    }
    rows.push_back(row);
  }

  __nv_bfloat16 *Q, *K, *V, *O;
  CUDA_CHECK(cudaMalloc(&Q, size_q * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMalloc(&K, size_k * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMalloc(&V, size_k * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMalloc(&O, size_q * sizeof(__nv_bfloat16)));
  CUDA_CHECK(cudaMemcpy(Q, h_q.data(), size_q * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(K, h_k.data(), size_k * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(V, h_v.data(), size_k * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice));
  launch(Q, K, V, O, heads, queries, keys, d, causal);
  CUDA_CHECK(cudaMemcpy(h_o.data(), O, size_q * sizeof(__nv_bfloat16), cudaMemcpyDeviceToHost));
  std::vector<float> got;
  for (const std::size_t row : rows) got.insert(got.end(), h_o.begin() + row * d, h_o.begin() + (row + 1) * d);
  const bool right = check(got, want, bound);

  // TIME: launch(Q, K, V, O, heads, queries, keys, d, causal); TFLOP/s of 2.0 * heads * queries * keys * d

  CUDA_CHECK(cudaFree(Q));
  CUDA_CHECK(cudaFree(K));
  CUDA_CHECK(cudaFree(V));
  CUDA_CHECK(cudaFree(O));
  return right ? 0 : 1;
}
