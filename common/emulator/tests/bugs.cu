// Kernels with one planted bug each: emulator_bugs <bug>. Exits with 0 if the result is right, 3 if it is wrong.
// test_bugs.cpp states which mode must catch which bug.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int kThreads = 256;

// ---------------------------------------------------------------- synchronisation

// No barrier between the load and the first step of the tree.
__global__ void tree_without_first_barrier(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[t];
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) *out = s[0];
}

// No barrier between the steps.
__global__ void tree_without_loop_barrier(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2)
    if (t < step) s[t] += s[t + step];
  __syncthreads();
  if (t == 0) *out = s[0];
}

// Reads the element that the previous thread writes, without a barrier.
__global__ void left_neighbour_without_barrier(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[t];
  out[t] = t > 0 ? s[t - 1] : 0;
}

// No barrier between the use of a tile and the load of the next.
__global__ void gemm_without_second_barrier(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    tile_a[y][x] = a[row * n + k0 + x];
    tile_b[y][x] = b[(k0 + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile_a[y][k] * tile_b[k][x];
  }
  c[row * n + column] = sum;
}

// The last steps of a tree in one warp, without __syncwarp between them, as was usual before Volta.
__global__ void warp_tail_without_syncwarp(const float* in, float* out) {
  __shared__ volatile float s[64];
  const int t = threadIdx.x;
  s[t] = in[t];
  s[t + 32] = in[t + 32];
  __syncwarp();
  for (int step = 32; step > 1; step /= 2)
    if (t < step) s[t] = s[t] + s[t + step];
  if (t == 0) *out = s[0] + s[1];
}

// Every other element is never written.
__global__ void half_written(float* out) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t % 2) s[t] = t;
  __syncthreads();
  out[t] = s[t];
}

// Reads the destination of an asynchronous copy without waiting for the copy.
__global__ void copy_without_wait(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &in[t], sizeof(float));
  __pipeline_commit();
  __syncthreads();
  out[t] = s[t];
}

// Each thread waits for its own copy, but no barrier makes the copies of other threads visible.
__global__ void copy_without_barrier(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &in[t], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[t] = s[(t + 1) % kThreads];
}

// Starts the copy of the next tile while other threads still read this one.
__global__ void copy_into_tile_in_use(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < 4; ++tile) {
    __pipeline_memcpy_async(&s[t], &in[tile * kThreads + t], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int i = 0; i < kThreads; ++i) sum += s[i];
  }
  out[t] = sum;
}

// Adds to the sum of the previous block without waiting for it.
__global__ void previous_block_without_wait(const float* in, float* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = in[blockIdx.x] + (blockIdx.x > 0 ? out[blockIdx.x - 1] : 0);
}

// All threads add to one variable without atomicAdd.
__global__ void sum_without_atomic(const float* in, float* out) {
  __shared__ float s;
  const int t = threadIdx.x;
  if (t == 0) s = 0;
  __syncthreads();
  s = s + in[t];
  __syncthreads();
  if (t == 0) *out = s;
}

// ---------------------------------------------------------------- memory

// i <= n where i < n was meant.
__global__ void global_read_past_end(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) {
    const float v = in[i];
    if (i < n || v == 12345) out[i < n ? i : 0] = v;
  }
}

__global__ void missing_guard(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

// The last float4 extends past n, which is not a multiple of 4.
__global__ void float4_tail(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i < n) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
}

__global__ void float4_misaligned(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  if (4 * i + 4 >= n) return;
  const float4& v = *reinterpret_cast<const float4*>(in + 1 + 4 * i);
  reinterpret_cast<float4*>(out)[i] = make_float4(v.w, v.z, v.y, v.x);
}

__global__ void copy(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

__global__ void shared_write_past_array(float* out) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t + 1] = t;
  __syncthreads();
  out[t] = s[t];
}

__global__ void shared_write_past_pointer(float* out) {
  __shared__ float s[64];
  float* p = s;
  const int t = threadIdx.x;
  p[t + 1] = t;
  __syncthreads();
  out[t] = p[t];
}

__global__ void dynamic_shared_write_past_end(float* out) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  s[t + 1] = t;
  __syncthreads();
  out[t] = s[t];
}

// Writes column 32 of a tile with 32 columns, which is the first element of the next row.
__global__ void shared_row_overflow(float* out) {
  __shared__ float tile[32][32];
  const int t = threadIdx.x;
  for (int column = 0; column <= 32; ++column) tile[t % 31][column] = column;
  __syncthreads();
  out[t] = tile[t % 31][5];
}

// A 32-bit index for more than 2^31 elements.
__global__ void index_overflow(long long* out, int rows, int columns) {
  const int row = rows - 1 - static_cast<int>(threadIdx.x);
  out[threadIdx.x] = row * columns;
}

// ---------------------------------------------------------------- the host side

std::vector<float> inputs(int n) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = (i * 37 % 101 - 50) / 8.0f;  // sums are exact in any order
  return values;
}

float sum(const std::vector<float>& values, int n) {
  float total = 0;
  for (int i = 0; i < n; ++i) total += values[i];
  return total;
}

class Device {
 public:
  explicit Device(const std::vector<float>& values) : size_(values.size()) {
    cudaMalloc(&data, size_ * sizeof(float));
    cudaMemcpy(data, values.data(), size_ * sizeof(float), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(data); }
  std::vector<float> get() const {
    std::vector<float> values(size_);
    cudaMemcpy(values.data(), data, size_ * sizeof(float), cudaMemcpyDeviceToHost);
    return values;
  }

  float* data = nullptr;

 private:
  std::size_t size_;
};

// Returns true if the result is right. An unknown name counts as wrong.
bool run(const char* name) {
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  const auto h = inputs(4096);
  Device in(h), out(std::vector<float>(4096));

  if (is("tree_without_first_barrier")) {
    tree_without_first_barrier<<<1, kThreads>>>(in.data, out.data);
    return out.get()[0] == sum(h, kThreads);
  }
  if (is("tree_without_loop_barrier")) {
    tree_without_loop_barrier<<<1, kThreads>>>(in.data, out.data);
    return out.get()[0] == sum(h, kThreads);
  }
  if (is("left_neighbour_without_barrier")) {
    left_neighbour_without_barrier<<<1, kThreads>>>(in.data, out.data);
    const auto got = out.get();
    return std::equal(h.begin(), h.begin() + kThreads - 1, got.begin() + 1);
  }
  if (is("gemm_without_second_barrier")) {
    const int n = 64;
    gemm_without_second_barrier<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(in.data, in.data, out.data, n);
    const auto got = out.get();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double expected = 0;
        for (int k = 0; k < n; ++k) expected += h[i * n + k] * h[k * n + j];
        if (!(std::fabs(got[i * n + j] - expected) < 1e-2)) return false;
      }
    return true;
  }
  if (is("warp_tail_without_syncwarp")) {
    warp_tail_without_syncwarp<<<1, 32>>>(in.data, out.data);
    return out.get()[0] == sum(h, 64);
  }
  if (is("half_written")) {
    half_written<<<1, 64>>>(out.data);
    const auto got = out.get();
    for (int t = 0; t < 64; ++t)
      if (got[t] != (t % 2 ? t : 0)) return false;
    return true;
  }
  if (is("copy_without_wait") || is("copy_without_barrier")) {
    const bool waits = is("copy_without_barrier");
    if (waits) {
      copy_without_barrier<<<1, kThreads>>>(in.data, out.data);
    } else {
      copy_without_wait<<<1, kThreads>>>(in.data, out.data);
    }
    const auto got = out.get();
    for (int t = 0; t < kThreads; ++t)
      if (got[t] != h[waits ? (t + 1) % kThreads : t]) return false;
    return true;
  }
  if (is("copy_into_tile_in_use")) {
    copy_into_tile_in_use<<<1, kThreads>>>(in.data, out.data);
    const auto got = out.get();
    return std::count(got.begin(), got.begin() + kThreads, sum(h, 4 * kThreads)) == kThreads;
  }
  if (is("previous_block_without_wait")) {
    previous_block_without_wait<<<64, 32>>>(in.data, out.data);
    return out.get()[63] == sum(h, 64);
  }
  if (is("sum_without_atomic")) {
    sum_without_atomic<<<1, kThreads>>>(in.data, out.data);
    return out.get()[0] == sum(h, kThreads);
  }

  const int n = 1001;
  Device small_in(inputs(n)), small_out(inputs(n));
  if (is("global_read_past_end"))
    global_read_past_end<<<4, kThreads>>>(small_in.data, out.data, n);
  else if (is("missing_guard"))
    missing_guard<<<4, kThreads>>>(small_out.data);
  else if (is("float4_tail"))
    float4_tail<<<1, kThreads>>>(small_in.data, small_out.data, n);
  else if (is("float4_misaligned"))
    float4_misaligned<<<1, 64>>>(in.data, out.data, 256);
  else if (is("shared_write_past_array"))
    shared_write_past_array<<<1, 64>>>(out.data);
  else if (is("shared_write_past_pointer"))
    shared_write_past_pointer<<<1, 64>>>(out.data);
  else if (is("dynamic_shared_write_past_end"))
    dynamic_shared_write_past_end<<<1, 64, 64 * sizeof(float)>>>(out.data);
  else if (is("shared_row_overflow"))
    shared_row_overflow<<<1, 64>>>(out.data);
  else if (is("index_overflow"))
    index_overflow<<<1, 32>>>(reinterpret_cast<long long*>(out.data), 70000, 70000);
  else if (is("host_reads_device_memory"))
    return in.data[3] == h[3];
  else if (is("missing_free")) {
    float* kept = nullptr;
    cudaMalloc(&kept, n * sizeof(float));
    copy<<<4, kThreads>>>(in.data, kept, n);
  } else if (is("use_after_free")) {
    float* freed = small_in.data;
    cudaFree(freed);
    small_in.data = nullptr;
    copy<<<4, kThreads>>>(freed, out.data, n);
  } else
    return false;
  return cudaDeviceSynchronize() == cudaSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  const bool right = run(argc > 1 ? argv[1] : "");
  std::printf("%s\n", right ? "nothing showed" : "wrong result");
  return right ? 0 : 3;
}
