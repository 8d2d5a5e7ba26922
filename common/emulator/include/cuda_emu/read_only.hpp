// Notices writes to device memory that kernels must only read: also one that puts back what was there.
#pragma once

namespace cuda_emu {

// From now on the first write of a kernel, or of a copy, to `allocation` is noticed; `allocation` is what cudaMalloc
// returned. False, and nothing is noticed, in builds with AddressSanitizer, where memory is not handed out in pages.
bool watch_writes(void* allocation);

struct FirstWrite {
  const void* address;  // null: there was no write
  char thread[512];     // which thread wrote: "in kernel ..."; empty for a copy
};

// Ends it.
FirstWrite stop_watching_writes(void* allocation);

}  // namespace cuda_emu
