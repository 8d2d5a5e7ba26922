// Steps 02 to 05 give the same dozens of orders each time, some microseconds of the CPU's time each. Idea: a graph. The
// orders are captured once, instead of being carried out; what the streams and events said becomes the edges between
// nodes, and from then on one call launches all of it.
// Expect: nothing for large data, where the CPU is far ahead of the device; for small data, most of the orders' time.
// Next question: and if x, y or n change? (The nodes hold them. Capture anew, or update the nodes' parameters.)
// needs: gpu
#include "overlap.cuh"

constexpr std::size_t kChunks = 8;

struct Graph {
  const int* x = nullptr;
  int *y = nullptr, *z = nullptr;
  std::size_t n = 0;
  cudaGraphExec_t exec = nullptr;
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
    CUDA_CHECK(cudaStreamWaitEvent(s, fork));  // from here on s is captured too
    copy_in(x + begin, z + begin, count, s);
    work(z + begin, count, s);
    copy_out(z + begin, y + begin, count, s);
    CUDA_CHECK(cudaEventRecord(join, s));
    CUDA_CHECK(cudaStreamWaitEvent(origin, join));  // every captured stream must come back
  }
  cudaGraph_t graph = nullptr;
  CUDA_CHECK(cudaStreamEndCapture(origin, &graph));
  cudaGraphExec_t exec = nullptr;
  CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CUDA_CHECK(cudaGraphDestroy(graph));
  return exec;
}

static void launch(const int* x, int* y, std::size_t n) {
  static Graph last;
  int* z = scratch<int>(n);  // not during the capture, where cudaMalloc is forbidden
  for (std::size_t c = 0; c <= kChunks; ++c) stream_number(c), event_number(c);
  if (last.exec == nullptr || last.x != x || last.y != y || last.z != z || last.n != n) {
    if (last.exec != nullptr) CUDA_CHECK(cudaGraphExecDestroy(last.exec));
    last = {x, y, z, n, nullptr};
    last.exec = capture(x, y, z, n);
  }
  CUDA_CHECK(cudaGraphLaunch(last.exec, nullptr));
}

LADDER_STEP(Overlap, launch);
