// Error reports as data, for programs that show them in their own way. The emulator prints them, too.
#pragma once

#include <string>
#include <vector>

namespace cuda_emu {

struct Report {
  bool fatal = false;  // the program ends now
  std::string kind;    // error or warning
  // One of: deadlock, barriers differ, collectives differ, grid barrier, mask, width, lane is gone (a warning),
  // returned (before a barrier, a warning), block waits, shared array, misaligned, address, host memory, device memory,
  // launch, time, stack, arithmetic, trap, float cast (a warning), sanitizer, interrupted, unsupported.
  std::string cause;
  std::string problem;            // one line, without the position
  std::string kernel;             // empty outside a kernel
  std::string launched;           // "file.cu:12"
  std::string at;                 // "file.cu:9", the position of the error; empty if it is not known
  const void* address = nullptr;  // of the failed access, if known
  bool has_thread = false;
  unsigned block[3]{}, thread[3]{};  // indices of the thread that made the error
  struct Group {
    unsigned count;
    std::string doing;    // "waits in __syncthreads() at file.cu:9"
    std::string threads;  // "(0,0,0)-(71,0,0)"
  };
  std::vector<Group> groups;  // the threads of the block
};

using ReportHandler = void (*)(const Report&);

// Makes `handler` receive every report; for a fatal error it is called before the program ends. null: no handler.
// Returns the previous handler.
ReportHandler on_report(ReportHandler handler);

}  // namespace cuda_emu
