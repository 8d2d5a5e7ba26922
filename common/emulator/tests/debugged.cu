// The program that test_debugger.py debugs: three launches of 4 blocks of 64 threads; with an argument, one that never
// ends. A comment "at: <name>" marks a line at which the test expects the debugger to stop.
#include <cuda_runtime.h>

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <thread>

__global__ void twice(int* out) {
  __shared__ int tile[64];  // at: start
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i;
  __syncthreads();                      // at: barrier
  out[i] = 2 * tile[63 - threadIdx.x];  // at: after
}

__global__ void spin(volatile int* out) {
  while (*out == 0) {  // at: spin
    out[1] = 1;
  }
}

int main(int count, char**) {
  int* out;
  cudaMalloc(&out, 256 * sizeof *out);
  cudaMemset(out, 0, 256 * sizeof *out);
  if (count > 1) {
    std::thread([debugged = pthread_self()] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      pthread_kill(debugged, SIGINT);  // like Ctrl-C
    }).detach();
    spin<<<1, 1>>>(out);
  }
  for (int launch = 0; launch < 3; ++launch) twice<<<4, 64>>>(out);
  std::puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
