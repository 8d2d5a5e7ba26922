// Detects writes to device memory that kernels must only read, including writes that do not change it.
#pragma once

namespace cuda_emu {

// Starts watching for the first write of a kernel or a copy to `allocation`, a pointer that cudaMalloc returned.
// Returns false, and does nothing, in builds with AddressSanitizer, where allocations have no pages of their own.
bool watch_writes(void* allocation);

struct FirstWrite {
  const void* address;  // null: there was no write
  char thread[512];     // the thread that wrote: "in kernel ..."; empty for a copy
};

// Stops watching and returns the first write.
FirstWrite stop_watching_writes(void* allocation);

}  // namespace cuda_emu
