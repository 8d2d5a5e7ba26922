// Measures the speed of the emulator: eight kernels, best of three runs each. The times say nothing about a GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr unsigned kAll = 0xffffffffu;

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void reduce_tree(const float* in, float* out, int n) {
  __shared__ float partial[256];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  partial[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, partial[0]);
}

__device__ float warp_sum(float v) {
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(kAll, v, distance);
  return v;
}

__global__ void reduce_shuffle(const float* in, float* out, int n) {
  __shared__ float partial[32];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, warps = blockDim.x / 32;
  const float sum = warp_sum(i < n ? in[i] : 0);
  if (t % 32 == 0) partial[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  const float total = warp_sum(t < warps ? partial[t] : 0);
  if (t == 0) atomicAdd(out, total);
}

constexpr int kTile = 32, kTileRows = 8;

__global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kTileRows)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kTileRows)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// One thread per element of C; n is a multiple of the tile.
__global__ void sgemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * kTile + ty, column = blockIdx.x * kTile + tx;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    tile_a[ty][tx] = a[row * n + k0 + tx];
    tile_b[ty][tx] = b[(k0 + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += tile_a[ty][k] * tile_b[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// TM x TN elements of C per thread; n is a multiple of BM and BN.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void sgemm_registers(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[BK][BM], tile_b[BK][BN];
  const int t = threadIdx.x, row = t / (BN / TN) * TM, column = t % (BN / TN) * TN;
  const int a_row = t / (BK / 4), a_column = t % (BK / 4) * 4, b_row = t / (BN / 4), b_column = t % (BN / 4) * 4;
  a += blockIdx.y * BM * n;
  b += blockIdx.x * BN;
  c += blockIdx.y * BM * n + blockIdx.x * BN;
  float sums[TM][TN] = {}, from_a[TM], from_b[TN];
  for (int k0 = 0; k0 < n; k0 += BK) {
    const float4 v = *reinterpret_cast<const float4*>(&a[a_row * n + k0 + a_column]);
    tile_a[a_column][a_row] = v.x;
    tile_a[a_column + 1][a_row] = v.y;
    tile_a[a_column + 2][a_row] = v.z;
    tile_a[a_column + 3][a_row] = v.w;
    *reinterpret_cast<float4*>(&tile_b[b_row][b_column]) =
        *reinterpret_cast<const float4*>(&b[(k0 + b_row) * n + b_column]);
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      for (int i = 0; i < TM; ++i) from_a[i] = tile_a[k][row + i];
      for (int j = 0; j < TN; ++j) from_b[j] = tile_b[k][column + j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sums[i][j] += from_a[i] * from_b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; j += 4)
      *reinterpret_cast<float4*>(&c[(row + i) * n + column + j]) =
          make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
}

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

__global__ void shuffles(int count, int* out) {
  int v = threadIdx.x;
  for (int i = 0; i < count; ++i) v = __shfl_xor_sync(kAll, v, 1);
  if (v < 0) *out = v;
}

// ---------------------------------------------------------------- measurement

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::exit(1);
}

double best_of_three(const std::function<void()>& launch) {
  double best = 1e30;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    launch();
    check(cudaDeviceSynchronize());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void print_seconds(const char* what, double seconds, bool right) {
  std::printf("%-44s %8.4f s  %s\n", what, seconds, right ? "ok" : "WRONG");
}
void print_nanoseconds(const char* what, double seconds, int times) {
  std::printf("%-44s %8.1f ns\n", what, seconds / times * 1e9);
}

std::vector<float> inputs(std::size_t n) {
  std::vector<float> values(n);
  unsigned state = 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = (static_cast<int>(state >> 16) % 17 - 8) / 8.0f;
  }
  return values;
}

class Device {
 public:
  explicit Device(const std::vector<float>& values) : size_(values.size()) {
    check(cudaMalloc(&data, size_ * sizeof(float)));
    check(cudaMemcpy(data, values.data(), size_ * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~Device() { cudaFree(data); }
  std::vector<float> get() const {
    std::vector<float> values(size_);
    check(cudaMemcpy(values.data(), data, size_ * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
  }
  float* data = nullptr;

 private:
  std::size_t size_;
};

void bench_vector_add() {
  const int n = 1 << 24;
  const auto h = inputs(n);
  Device a(h), b(h), c(std::vector<float>(n, 0.0f));
  const double seconds = best_of_three([&] { vector_add<<<n / 256, 256>>>(a.data, b.data, c.data, n); });
  const auto got = c.get();
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && got[i] == h[i] + h[i];
  print_seconds("vector add 2^24", seconds, right);
}

void bench_reductions() {
  const int n = 1 << 22;
  const auto h = inputs(n);
  double expected = 0;
  for (const float v : h) expected += v;
  Device in(h), out({0});
  const auto run = [&](const char* what, void (*kernel)(const float*, float*, int)) {
    const double seconds = best_of_three([&] {
      check(cudaMemset(out.data, 0, sizeof(float)));
      kernel<<<n / 256, 256>>>(in.data, out.data, n);
    });
    print_seconds(what, seconds, std::fabs(out.get()[0] - expected) < 1);
  };
  run("tree reduction 2^22, 256 threads", reduce_tree);
  run("shuffle reduction 2^22, 256 threads", reduce_shuffle);
}

void bench_transpose() {
  const int n = 2048;
  const auto h = inputs(n * n);
  Device in(h), out(std::vector<float>(n * n, 0.0f));
  const double seconds = best_of_three(
      [&] { transpose<<<dim3(n / kTile, n / kTile), dim3(kTile, kTileRows)>>>(in.data, out.data, n, n); });
  const auto got = out.get();
  bool right = true;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) right = right && got[j * n + i] == h[i * n + j];
  print_seconds("transpose 32x33, 2048^2", seconds, right);
}

void bench_sgemm() {
  const int n = 512;
  const auto a = inputs(n * n), b = inputs(n * n);
  std::vector<float> expected(n * n, 0.0f);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) expected[i * n + j] += a[i * n + k] * b[k * n + j];
  Device device_a(a), device_b(b), c(expected);
  const auto run = [&](const char* what, const std::function<void()>& launch) {
    check(cudaMemset(c.data, 0, n * n * sizeof(float)));
    const double seconds = best_of_three(launch);
    const auto got = c.get();
    bool right = true;
    for (int i = 0; i < n * n; ++i) right = right && std::fabs(got[i] - expected[i]) < 1e-2;
    print_seconds(what, seconds, right);
  };
  run("sgemm 512^3, 32x32 tiles, 1024 threads", [&] {
    sgemm_tiled<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(device_a.data, device_b.data, c.data, n);
  });
  run("sgemm 512^3, 128x128x8, 8x8 per thread", [&] {
    sgemm_registers<128, 128, 8, 8, 8><<<dim3(n / 128, n / 128), 256>>>(device_a.data, device_b.data, c.data, n);
  });
}

void bench_synchronisation() {
  const int times = 1000, threads = 1024;
  print_nanoseconds("__syncthreads, per thread, 1024 threads", best_of_three([&] { barriers<<<1, threads>>>(times); }),
                    times * threads);
  print_nanoseconds("__shfl_xor_sync, per thread, 1024 threads",
                    best_of_three([&] { shuffles<<<1, threads>>>(times, nullptr); }), times * threads);
}

}  // namespace

int main() {
  bench_vector_add();
  bench_reductions();
  bench_transpose();
  bench_sgemm();
  bench_synchronisation();
}
