// Kernels that break the rules of barriers and warp collectives, never end, or crash, one per case:
// emulator_reports <case>. Exits with the launch's error code.
// A comment "at: <name>" marks a line that the test expects in the report.
#include <cuda_runtime.h>

#include "cuda_emu/report.hpp"

#include <cooperative_groups.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

constexpr unsigned kAll = 0xffffffffu;

__global__ void early_return(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = i;
  __syncthreads();  // at: early_return
}

__global__ void barriers_by_warp(int* out) {
  __shared__ int sum;
  if (threadIdx.x < 64) {
    if (threadIdx.x == 0) sum = 17;
    __syncthreads();  // at: by_warp_first
  } else {
    __syncthreads();  // at: by_warp_second
  }
  out[threadIdx.x] = sum;
}

__global__ void endless_after_return(int* out) {
  if (threadIdx.x >= 40) return;
  out[threadIdx.x] = __syncthreads_and(threadIdx.x < 40) + __syncthreads_count(threadIdx.x < 3);
}

__global__ void __launch_bounds__(64) bounded(int* out) { out[threadIdx.x] = 1; }

__global__ void reads_reference(int* out, const int& n) {  // at: reads_reference
  out[threadIdx.x] = n;
}

__global__ void writes(int* out) {
  if (threadIdx.x == 0) out[0] = 1;
}

// Returns an uninitialized variable, from a part of the stack that an earlier call has written.
__device__ __noinline__ int uninitialised(int n) {
  int values[64];
  for (int i = 1; i < n; ++i) values[i] = i;
  return values[n - 1];
}

__global__ void read_uninitialised(int* out) { out[0] = uninitialised(1) == 0; }

__global__ void outside_unsigned_char(int* out, float value) {
  for (int i = 0; i < 2; ++i) out[i] = static_cast<unsigned char>(value);  // at: float_cast
}

__constant__ float weights[3] = {1, 2, 3};

__global__ void use_weights(int* out) { out[0] = static_cast<int>(weights[2]); }

__global__ void shared_overrun(int* out) {
  __shared__ int s[4];
  int* p = s;
  p[4 + threadIdx.x] = 1;
  out[0] = p[0];
}

__global__ void dynamic_forgotten(int* out) {
  extern __shared__ int d[];
  d[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = d[threadIdx.x];
}

__global__ void divergent_barriers() {
  if (threadIdx.x % 64 < 40)
    __syncthreads();  // at: divergent_first
  else
    __syncthreads();  // at: divergent_second
}

__global__ void different_masks(int* out) {
  if (threadIdx.x % 32 < 16)
    out[threadIdx.x] = __shfl_xor_sync(kAll, 1, 1);  // at: masks_all
  else
    out[threadIdx.x] = __shfl_xor_sync(0xffff0000u, 1, 1);
  __syncthreads();  // at: masks_barrier
}

__global__ void caller_not_in_mask(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1, 1);  // at: not_in_mask
}

__global__ void different_operations(int* out) {
  if (threadIdx.x % 2)
    __syncwarp();  // at: operations_sync
  else
    out[threadIdx.x] = __shfl_xor_sync(kAll, 1, 1);  // at: operations_shuffle
}

__global__ void collective_in_one_branch(int* out) {
  if (threadIdx.x % 2) out[threadIdx.x] = __shfl_xor_sync(kAll, 1, 1);  // at: branch_shuffle
  __syncthreads();                                                      // at: branch_barrier
}

__global__ void odd_width(int* out) {
  out[threadIdx.x] = __shfl_down_sync(kAll, 1, 1, 24);  // at: odd_width
}

__global__ void exited_lanes(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_down_sync(kAll, static_cast<int>(threadIdx.x), 8);  // at: exited_lanes
}

__global__ void no_lane_beyond(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= 16) return;
  int sum = __shfl_down_sync(kAll, lane, 8, 16) + __shfl_up_sync(kAll, lane, 8) + __shfl_xor_sync(kAll, lane, 24, 16);
  sum += __shfl_sync(kAll, lane, 31, 16) + __shfl_down_sync(0xffffu, lane, 8);
  out[lane] = sum + __popc(__ballot_sync(kAll, 1));
}

__global__ void returned_block() {
  if (blockIdx.x == 2) return;
  cooperative_groups::this_grid().sync();  // at: returned_block
}

__global__ void grid_barrier_without_cooperation() {
  cooperative_groups::this_grid().sync();  // at: not_cooperative
}

// A hand-written barrier of all blocks.
__global__ void wait_for_all_blocks(int* arrived) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {  // at: waits_for_all_blocks
    }
  }
  __syncthreads();
}

__global__ void endless_loop(volatile int* out) {
  if (blockIdx.x != 2 || threadIdx.x != 37) return;
  while (true) out[0] = 1;  // at: endless_loop
}

__global__ void endless_polls(int* flag) {
  while (atomicAdd(flag, 0) == 0) {  // at: endless_polls
  }
}

__global__ void warp_waits_in_lock(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __syncwarp();
  atomicExch(lock, 0);
}

__global__ void endless_barriers() {
  while (true) __syncthreads();  // at: endless_barriers
}

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackSize = 1 << 20;
#else
constexpr std::size_t kStackSize = 256 << 10;
#endif

// Thread 1 reads below thread 0's stack: protected memory, as may be next to any buffer.
__global__ void wild_read(int* out) {
  __shared__ char* stack;
  if (threadIdx.x == 0) stack = static_cast<char*>(__builtin_frame_address(0));
  __syncthreads();
  if (threadIdx.x == 1) out[0] = *reinterpret_cast<volatile int*>(stack - kStackSize);  // at: wild_read
}

__device__ int deep(volatile int* out, int n) {
  volatile int local[1024];
  local[0] = n;
  out[0] = n;
  return n == 1 << 24 ? 0 : deep(out, n + 1) + local[0];
}

__global__ void stack_overflow(int* out) { out[0] = deep(out, 0); }

// Sends SIGINT, like Ctrl-C, once the endless loop runs.
void interrupt_when_set(volatile int* flag) {
  std::thread([flag] {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);  // another thread must receive it
    while (*flag == 0) std::this_thread::yield();
    usleep(500000);  // until other blocks that have started are done
    kill(getpid(), SIGINT);
  }).detach();
}

__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  int *out, first = -1;
  cudaMalloc(&out, 4096);

  if (is("early_return")) early_return<<<2, 128>>>(out, 200);  // at: early_return_launch
  if (is("barriers_by_warp")) barriers_by_warp<<<1, 128>>>(out);
  if (is("endless_after_return")) endless_after_return<<<1, 100>>>(out);
  if (is("read_uninitialised")) read_uninitialised<<<1, 1>>>(out);
  if (is("outside_unsigned_char")) outside_unsigned_char<<<1, 2>>>(out, -1.0f);
  if (is("host_writes_constant")) {
    use_weights<<<1, 1>>>(out);
    weights[2] = 7;
    use_weights<<<1, 1>>>(out);
  }
  if (is("reference")) {
    const int on_stack = 7;
    reads_reference<<<1, 32>>>(out, on_stack);
  }
  if (is("bounded")) bounded<<<1, 65>>>(out);
  if (is("host_pointer")) {
    int on_stack[32];
    writes<<<1, 32>>>(on_stack);
  }
  if (is("heap_pointer")) writes<<<1, 32>>>(new int[32]);
  if (is("shared_overrun")) shared_overrun<<<1, 2>>>(out);
  if (is("dynamic_forgotten")) dynamic_forgotten<<<1, 32>>>(out);
  if (is("nobody_asks")) {
    bounded<<<1, 65>>>(out);
    return 0;
  }
  if (is("nobody_asks_too_many")) {
    writes<<<1, 2048>>>(out);
    return 0;
  }
  if (is("divergent_barriers")) divergent_barriers<<<1, 128>>>();
  if (is("different_masks")) different_masks<<<1, 64>>>(out);
  if (is("caller_not_in_mask")) caller_not_in_mask<<<1, 32>>>(out);
  if (is("different_operations")) different_operations<<<1, 32>>>(out);
  if (is("collective_in_one_branch")) collective_in_one_branch<<<1, 64>>>(out);
  if (is("odd_width")) odd_width<<<1, 32>>>(out);
  if (is("no_lane_beyond")) no_lane_beyond<<<1, 32>>>(out);
  if (is("exited_lanes")) exited_lanes<<<1, 32>>>(out);
  if (is("waits_for_all_blocks") || is("waits_for_resident_blocks") || is("endless_polls")) {
    cuda_emu::on_report([](const cuda_emu::Report& report) {
      std::printf("cause: %s\nwhere: %s\n", report.cause.c_str(), report.at.c_str());
    });
  }
  if (is("waits_for_all_blocks") || is("waits_for_resident_blocks")) {
    cudaMemset(out, 0, sizeof *out);
    wait_for_all_blocks<<<is("waits_for_all_blocks") ? 1000 : 128, 64>>>(out);
  }
  if (is("returned_block")) cudaLaunchCooperativeKernel(returned_block, dim3(4), dim3(64), nullptr);
  if (is("grid_barrier_without_cooperation")) grid_barrier_without_cooperation<<<2, 32>>>();

  if (is("endless_loop")) endless_loop<<<3, 64>>>(out);
  if (is("endless_polls")) {
    cudaMemset(out, 0, sizeof *out);
    endless_polls<<<20, 32>>>(out);
  }
  if (is("warp_waits_in_lock")) {
    cudaMemset(out, 0, sizeof *out);
    warp_waits_in_lock<<<2, 64>>>(out);
  }
  if (is("endless_barriers")) endless_barriers<<<1, 64>>>();
  if (is("wild_read")) wild_read<<<1, 2>>>(out);
  if (is("stack_overflow")) stack_overflow<<<1, 1>>>(out);
  if (is("interrupt")) {
    signal(SIGINT, SIG_DFL);  // background jobs of a shell ignore it
    static int running = 0;
    interrupt_when_set(&running);
    endless_loop<<<3, 64>>>(&running);
  }

  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("result: %s\n", cudaGetErrorName(error));
  if (is("read_uninitialised")) {
    int zero;
    cudaMemcpy(&zero, out, sizeof zero, cudaMemcpyDeviceToHost);
    std::printf("zero: %d\n", zero);
  } else if (is("early_return") || is("barriers_by_warp") || is("endless_after_return")) {
    int got[2];
    cudaMemcpy(got,
               out + (is("early_return")       ? 198
                      : is("barriers_by_warp") ? 126
                                               : 38),
               sizeof got, cudaMemcpyDeviceToHost);
    std::printf("the last two got %d %d\n", got[0], got[1]);
  } else if (is("exited_lanes")) {
    int got[16];
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    std::printf("lane 0 got %d, lane 12 got %d\n", got[0], got[12]);
  } else if (error != cudaSuccess) {
    // the error stays until the device is reset; then kernels run again
    fill<<<1, 32>>>(out);
    std::printf("while failed: %s, %s\n", cudaGetErrorName(cudaGetLastError()), cudaGetErrorName(cudaGetLastError()));
    cudaFree(out);
    cudaDeviceReset();
    cudaMalloc(&out, 4096);
    fill<<<1, 32>>>(out);
    cudaMemcpy(&first, out + 31, sizeof first, cudaMemcpyDeviceToHost);
    std::printf("after reset: %s, %d\n", cudaGetErrorName(cudaDeviceSynchronize()), first);
  }
  cudaFree(out);
  return error == cudaSuccess ? 0 : 1;
}
