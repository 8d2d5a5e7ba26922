// kernel: heat3d
int main(int argc, char** argv) {
  const std::size_t nx = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
  const std::size_t ny = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 256;
  const std::size_t nz = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 256;
  constexpr std::size_t steps = 2;
  const float c0 = 0.25f, c1 = 0.125f;
  const std::size_t n = nx * ny * nz, bytes = n * sizeof(float), plane = nx * ny;
  std::vector<float> h_in(n), h_out(n);
  for (std::size_t i = 0; i < n; ++i) h_in[i] = static_cast<float>(i % 1009) / 100;
  std::vector<double> old(h_in.begin(), h_in.end()), want = old, bound(n, 1e-5 * steps);  // values are below 11
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t z = 1; z + 1 < nz; ++z) {  // the border keeps its value
      for (std::size_t y = 1; y + 1 < ny; ++y) {
        for (std::size_t x = 1; x + 1 < nx; ++x) {
          const std::size_t i = z * plane + y * nx + x;
          want[i] = c0 * old[i] +
                    c1 * (old[i - 1] + old[i + 1] + old[i - nx] + old[i + nx] + old[i - plane] + old[i + plane]);
        }
      }
    }
    old = want;
  }

  float *in, *out;
  CUDA_CHECK(cudaMalloc(&in, bytes));
  CUDA_CHECK(cudaMalloc(&out, bytes));
  CUDA_CHECK(cudaMemcpy(in, h_in.data(), bytes, cudaMemcpyHostToDevice));
  launch(in, out, nx, ny, nz, steps, c0, c1);
  CUDA_CHECK(cudaMemcpy(h_out.data(), out, bytes, cudaMemcpyDeviceToHost));
  const bool right = check(h_out, want, bound);

  // TIME: launch(in, out, nx, ny, nz, steps, c0, c1); GB/s of 8.0 * n * steps

  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
  return right ? 0 : 1;
}
