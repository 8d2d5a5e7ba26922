// Problem:  in step 03 a row of 128 has a block to itself, half of a row of 32768 is read again, and 64 rows leave more
//           than half of 132 SMs idle.
// Idea:     a warp per row up to 1024, eight rows per block; a block with up to 8 float4 per thread up to 32768; longer
//           or few rows in parts, by two kernels as in step 01, the second from the end, which L2 still holds.
// Expect:   0.9 to 1.0 of a copy at 32768 x 1024 and 4096 x 32768, 0.7 to 0.9 at 65536 x 128, which is as short as a
//           launch; 0.55 to 0.65 at 64 x 2^20, where 9 bytes move for 5.
// Measured: 1.00x step 03, 0.98 of a copy at 16384x4096 (H200).
// Next:     a row of 2^20 is 4 MB. What holds it? (A cluster's registers and shared memory: row_softmax 12.)
#include "int8_row.cuh"

// What a row is: up to 3 elements, float4 from a 16-byte boundary on, up to 3 elements.
struct RowParts {
  unsigned head;
  std::size_t units, behind;
  __device__ RowParts(const float* x, std::size_t cols) {
    head = static_cast<unsigned>(min(std::size_t{floats_to_boundary(x)}, cols));
    units = (cols - head) / 4;
    behind = head + 4 * units;
  }
  // The element that is none of a float4 and thread t's, or one from the row's end on.
  __device__ std::size_t edge(std::size_t t) const { return t < head ? t : t - head + behind; }
};

__device__ static unsigned magnitude(float4 v) {
  return max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
}

__device__ static void store4(std::int8_t* q, char4 v, bool aligned) {
  if (aligned) {
    *reinterpret_cast<char4*>(q) = v;
  } else {
    q[0] = v.x, q[1] = v.y, q[2] = v.z, q[3] = v.w;
  }
}

// kKept float4 of `parts` from unit `first` on, kStride apart.
template <int kKept, int kStride>
struct Kept {
  float4 v[kKept];
  __device__ Kept(const float* x, const RowParts& parts, std::size_t first) {
    const float4* x4 = reinterpret_cast<const float4*>(x + parts.head);
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const std::size_t i = first + k * kStride;
      v[k] = i < parts.units ? x4[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    }
  }
  __device__ unsigned greatest() const {
    unsigned most = 0;
#pragma unroll
    for (int k = 0; k < kKept; ++k) most = max(most, magnitude(v[k]));
    return most;
  }
  __device__ void store(std::int8_t* q, const RowParts& parts, std::size_t first, const Quantizer& quantized) const {
    q += parts.head;
    const bool aligned = reinterpret_cast<std::uintptr_t>(q) % alignof(char4) == 0;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const std::size_t i = first + k * kStride;
      if (i < parts.units) store4(q + 4 * i, quantized(v[k]), aligned);
    }
  }
};

// Rows that kThreads threads keep in registers: a block's, or a warp's.
template <int kThreads, int kKept, int kOfBlock = kThreads == 32 ? 256 : kThreads>
__global__ void __launch_bounds__(kOfBlock)
    quantize_kept(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale, std::size_t rows,
                  std::size_t cols) {
  const unsigned tid = threadIdx.x % kThreads;
  const std::size_t row = (std::size_t{blockIdx.x} * kOfBlock + threadIdx.x) / kThreads;
  if (row >= rows) return;  // a whole warp, and then there is no barrier for the block
  x += row * cols;
  q += row * cols;
  const RowParts parts(x, cols);
  const Kept<kKept, kThreads> kept(x, parts, tid);
  const std::size_t edge = parts.edge(tid);
  const float single = edge < cols ? x[edge] : 0.0f;
  const float row_scale = scale_of(block_max<kThreads>(max(kept.greatest(), magnitude(single))));
  if (tid == 0) scale[row] = row_scale;
  const Quantizer quantized(row_scale);
  kept.store(q, parts, tid, quantized);
  if (edge < cols) q[edge] = quantized(single);
}

constexpr int kBlock = 256, kPart = 4 * kBlock;  // threads and float4 of a part; a block has every gridDim.y-th part
__global__ void __launch_bounds__(kBlock)
    greatest_of_parts(const float* __restrict__ x, unsigned* __restrict__ greatest, std::size_t cols) {
  x += blockIdx.x * cols;
  const RowParts parts(x, cols);
  const std::size_t edge = parts.edge(threadIdx.x);
  unsigned most = blockIdx.y == 0 && edge < cols ? magnitude(x[edge]) : 0;
  for (std::size_t first = std::size_t{blockIdx.y} * kPart; first < parts.units; first += gridDim.y * kPart) {
    most = max(most, Kept<4, kBlock>(x, parts, first + threadIdx.x).greatest());
  }
  most = block_max<kBlock>(most);
  if (threadIdx.x == 0) atomicMax(&greatest[blockIdx.x], most);
}

// From the last part to the first: what the kernel before read last is still in L2.
__global__ void __launch_bounds__(kBlock)
    divide_parts(const float* __restrict__ x, const unsigned* __restrict__ greatest, std::int8_t* __restrict__ q,
                 float* __restrict__ scale, std::size_t cols) {
  const unsigned row = gridDim.x - 1 - blockIdx.x, part = gridDim.y - 1 - blockIdx.y;
  x += row * cols;
  q += row * cols;
  const float row_scale = scale_of(greatest[row]);
  if (part == 0 && threadIdx.x == 0) scale[row] = row_scale;
  const RowParts parts(x, cols);
  const std::size_t edge = parts.edge(threadIdx.x);
  const Quantizer quantized(row_scale);
  if (part == 0 && edge < cols) q[edge] = quantized(x[edge]);
  for (std::size_t first = std::size_t{part} * kPart; first < parts.units; first += gridDim.y * kPart) {
    Kept<4, kBlock>(x, parts, first + threadIdx.x).store(q, parts, first + threadIdx.x, quantized);
  }
}

static void launch_in_parts(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  const auto parts = static_cast<unsigned>(std::min<std::size_t>(ceil_div(cols / 4, kPart), 65535));
  unsigned* greatest = scratch<unsigned>(rows);
  CUDA_CHECK(cudaMemsetAsync(greatest, 0, rows * sizeof(unsigned)));
  const dim3 grid(static_cast<unsigned>(rows), parts);
  greatest_of_parts<<<grid, kBlock>>>(x, greatest, cols);
  CUDA_CHECK(cudaGetLastError());
  divide_parts<<<grid, kBlock>>>(x, greatest, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const std::size_t least_rows = 2 * sm_count();
  if (cols > (rows < least_rows ? 8192 : 32768)) return launch_in_parts(x, q, scale, rows, cols);
  const auto start = [&](auto kernel, int threads) {
    const int block = threads == 32 ? 256 : threads;
    kernel<<<static_cast<unsigned>(ceil_div(rows, block / threads)), block>>>(x, q, scale, rows, cols);
    CUDA_CHECK(cudaGetLastError());
  };
  if (cols <= 128) return start(quantize_kept<32, 1>, 32);
  if (cols <= 256) return start(quantize_kept<32, 2>, 32);
  if (cols <= 512) return start(quantize_kept<32, 4>, 32);
  if (cols <= 1024) return start(quantize_kept<32, 8>, 32);
  if (cols <= 2048) return start(quantize_kept<128, 4>, 128);
  if (cols <= 4096) return start(quantize_kept<256, 4>, 256);
  if (cols <= 8192) return start(quantize_kept<512, 4>, 512);
  if (cols <= 16384) return start(quantize_kept<1024, 4>, 1024);
  start(quantize_kept<1024, 8>, 1024);
}

LADDER_STEP(Quantize, launch);
