// Settings of the emulator. Environment variables set the initial values; tests may change some between launches.
//
// - CUDA_EMU_ORDER, forward | reverse | random[:SEED]: the order in which the threads of a block run between two
//   barriers. In reverse order the last block starts first, too, as long as no block waits for an earlier one. The
//   default SEED is 1.
// - CUDA_EMU_WORKERS, 1 to 16: OS threads that run blocks. Runs with 1 are reproducible bit for bit.
// - CUDA_EMU_STACK, 16 to 65536: KiB of stack per CUDA thread.
// - CUDA_EMU_TIMEOUT, 0 to 86400, default 60: seconds of CPU time of an OS thread. If none of its CUDA threads finishes
//   in that time, the program prints its position and ends with exit status 124. 0: no limit.
// - CUDA_EMU_MULTIPROCESSORS, 1 to 1024, default 4: the number that the device reports. A program that derives its grid
//   from it gets the grid of a GPU with as many multiprocessors.
// - CUDA_EMU_FILL, nan | large | zeros: the content of fresh device and shared memory. nan: NaN, -1 as an integer.
//   large: large finite numbers, for checks that miss NaN. zeros: often the content on a GPU.
//
// Any other value ends the program at its start, with one line and exit status 2.
#pragma once

namespace cuda_emu {

// Sets the order; `order` is a value of CUDA_EMU_ORDER. Returns false and changes nothing for any other string.
bool set_order(const char* order);
// Returns the order in use, in the same notation. The string is valid until the next call of set_order.
const char* order_name();

// Sets the fill; `fill` is a value of CUDA_EMU_FILL. Returns false and changes nothing for any other string.
bool set_fill(const char* fill);

// While this is on, launches are checked, but no thread runs, and cudaMalloc does not fill memory. So large sizes take
// no time.
void set_launches_only(bool on);

// Sets the number of workers, 1 to 16. Returns false and changes nothing for any other number.
bool set_workers(unsigned workers);
unsigned worker_count();

}  // namespace cuda_emu
