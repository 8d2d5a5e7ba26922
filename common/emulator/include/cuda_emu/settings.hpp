// How the emulator runs kernels. The environment sets the start values; tests may change some of them between launches.
//
// - CUDA_EMU_ORDER, forward | reverse | random[:SEED]: the order in which the threads of a block run, from barrier to
//   barrier. In reverse order blocks too start with the last one, as long as none waits for an earlier one. SEED is 1
//   if not given.
// - CUDA_EMU_WORKERS, 1 to 16: OS threads that run blocks; 1 is reproducible bit for bit.
// - CUDA_EMU_STACK, 16 to 65536: KiB of stack for each CUDA thread.
// - CUDA_EMU_TIMEOUT, 0 to 86400, default 60: seconds of CPU time of an OS thread in which none of its CUDA threads
//   finishes. Then the program says where it is and ends with exit status 124. 0 waits without limit.
// - CUDA_EMU_MULTIPROCESSORS, 1 to 1024, default 4: what the device says that it has. Grids that a program fits to them
//   are then as on a GPU with as many.
// - CUDA_EMU_FILL, nan | large | zeros: what fresh device and shared memory holds: NaN (as an integer -1); large finite
//   numbers, which a check that NaN slips through does notice; or zeros, as it often does on a GPU.
//
// A value that is none of these ends the program at its start, with one line and exit status 2.
#pragma once

namespace cuda_emu {

// Takes what CUDA_EMU_ORDER takes; false, and nothing changes, for anything else.
bool set_order(const char* order);
// The order in use, in the same notation. The string is valid until the next call of set_order.
const char* order_name();

// Takes what CUDA_EMU_FILL takes; false, and nothing changes, for anything else.
bool set_fill(const char* fill);

// While it is on, launches are checked but no thread runs, and cudaMalloc leaves memory as it comes: so that a size costs
// nothing.
void set_launches_only(bool on);

// Takes 1 to 16; false, and nothing changes, for anything else.
bool set_workers(unsigned workers);
unsigned worker_count();

}  // namespace cuda_emu
