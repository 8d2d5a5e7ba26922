// bug: slices are taken to be width rows apart; they are height rows apart, so some rows are doubled twice, others not
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../memory.cuh"

constexpr std::size_t kWidth = 100, kHeight = 128, kSlice = kWidth * kHeight, kRow = kWidth * sizeof(float);

static cudaPitchedPtr volume_for(std::size_t n) {  // kept for the next call
  static cudaPitchedPtr volume = {};
  static std::size_t depth = 0;
  if (depth < ceil_div(n, kSlice)) {
    CUDA_CHECK(cudaFree(std::exchange(volume, cudaPitchedPtr{}).ptr));
    depth = ceil_div(n, kSlice);
    CUDA_CHECK(cudaMalloc3D(&volume, make_cudaExtent(kRow, kHeight, depth)));
  }
  return volume;
}

__global__ void memory_double_slices(cudaPitchedPtr volume, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t z = i / kSlice, y = i % kSlice / kWidth, x = i % kWidth;
  char* const row = static_cast<char*>(volume.ptr) + (z * kWidth + y) * volume.pitch;  // z * kHeight
  if (i < n) reinterpret_cast<float*>(row)[x] *= 2.0f;
}

// Copies n floats between the host's rows, which have no gaps, and the volume: whole slices, whole rows, part of a row.
static void copy_volume(const float* data, std::size_t n, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(data), kRow, kWidth, kHeight);
  copy.dstPtr = volume_for(n);
  if (kind == cudaMemcpyDeviceToHost) std::swap(copy.srcPtr, copy.dstPtr);
  copy.kind = kind;
  const auto copy_box = [&](std::size_t y, std::size_t z, const cudaExtent& box) {
    copy.srcPos = copy.dstPos = make_cudaPos(0, y, z);
    copy.extent = box;
    CUDA_CHECK(cudaMemcpy3DAsync(&copy));
  };
  const std::size_t z = n / kSlice, y = n % kSlice / kWidth, x = n % kWidth;
  if (z > 0) copy_box(0, 0, make_cudaExtent(kRow, kHeight, z));
  if (y > 0) copy_box(0, z, make_cudaExtent(kRow, y, 1));
  if (x > 0) copy_box(y, z, make_cudaExtent(x * sizeof(float), 1, 1));
}

static void copy_in(const float* x, float*, std::size_t n) { copy_volume(x, n, cudaMemcpyHostToDevice); }
static void copy_out(const float*, float* y, std::size_t n) { copy_volume(y, n, cudaMemcpyDeviceToHost); }

static void whole(const float* x, float* y, std::size_t n) {
  copy_in(x, nullptr, n);
  memory_double_slices<<<ceil_div(n, 256), 256>>>(volume_for(n), n);
  CUDA_CHECK(cudaGetLastError());
  copy_out(nullptr, y, n);
}

// x and y are pinned: cudaMallocHost(&x, n * sizeof(float)), cudaFreeHost(x).
LADDER_STEP(Transfer, ladder::Place::pinned, copy_in, copy_out, whole);
