// Problem:  steps 02 to 05 issue dozens of commands each time, a few microseconds of CPU time each.
// Idea:     a graph. The commands are captured once, streams and events become edges, and one call launches all.
// Expect:   0.87 of the link at 2^26 (H200), as step 02. At 2^20 at least 1.3x step 02, without 24 commands.
// Measured: 1.13x step 05, 0.88 of the link at 2^26 (H200); 1.08x, 0.93 (H100).
// Why:      1.04x step 02 at 2^20, 6 of 158 us (H100), not 1.3x: open.
// Next:     what if x, y or n change, or a buffer is freed and its address is reused?
// needs: gpu
#include "overlap.cuh"

#include <cuda.h>

#include <tuple>

constexpr std::size_t kChunks = 8;

// Returns the driver's id of the allocation that contains `pointer`. After a free, a new allocation may get the same
// address, but a graph captured before would still use the old one.
static unsigned long long allocation_id(const void* pointer) {
  using Query = CUresult (*)(void*, CUpointer_attribute, CUdeviceptr);
  static const auto query = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", &function, 12000, cudaEnableDefault, &found));
#else
    CUDA_CHECK(cudaGetDriverEntryPoint("cuPointerGetAttribute", &function, cudaEnableDefault, &found));
#endif
    return reinterpret_cast<Query>(function);
  }();
  unsigned long long id = 0;
  const CUresult result = query(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, reinterpret_cast<CUdeviceptr>(pointer));
  CUDA_CHECK(result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue);
  return id;
}

// The arguments that a graph was captured with.
struct Key {
  const int* x;
  int *y, *z;
  std::size_t n;
  unsigned long long id_x, id_y, id_z;

  bool operator==(const Key& other) const {
    const auto all = [](const Key& k) { return std::tie(k.x, k.y, k.z, k.n, k.id_x, k.id_y, k.id_z); };
    return all(*this) == all(other);
  }
};

static cudaGraphExec_t capture(const int* x, int* y, int* z, std::size_t n) {
  const cudaStream_t origin = stream_number(0);
  const cudaEvent_t fork = event_number(0);
  CUDA_CHECK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  CUDA_CHECK(cudaEventRecord(fork, origin));
  const std::size_t chunk = ceil_div(n, kChunks);
  for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
    const std::size_t count = std::min(chunk, n - begin);
    const cudaStream_t s = stream_number(1 + c);
    const cudaEvent_t join = event_number(1 + c);
    CUDA_CHECK(cudaStreamWaitEvent(s, fork));  // s joins the capture
    copy_in(x + begin, z + begin, count, s);
    work(z + begin, count, s);
    copy_out(z + begin, y + begin, count, s);
    CUDA_CHECK(cudaEventRecord(join, s));
    CUDA_CHECK(cudaStreamWaitEvent(origin, join));  // every captured stream must rejoin
  }
  cudaGraph_t graph = nullptr;
  CUDA_CHECK(cudaStreamEndCapture(origin, &graph));
  cudaGraphExec_t exec = nullptr;
  CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CUDA_CHECK(cudaGraphDestroy(graph));
  return exec;
}

static void launch(const int* x, int* y, std::size_t n) {
  static Key captured_for = {};
  static cudaGraphExec_t exec = nullptr;
  int* z = scratch<int>(n);  // before the capture, in which cudaMalloc is an error
  for (std::size_t c = 0; c <= kChunks; ++c) stream_number(c), event_number(c);  // also created before
  const Key key = {x, y, z, n, allocation_id(x), allocation_id(y), allocation_id(z)};
  if (exec == nullptr || !(key == captured_for)) {
    if (exec != nullptr) CUDA_CHECK(cudaGraphExecDestroy(exec));
    exec = nullptr;
    exec = capture(x, y, z, n);
    captured_for = key;
  }
  CUDA_CHECK(cudaGraphLaunch(exec, nullptr));
}

LADDER_STEP(Overlap, launch);
