// What is wrong with a kernel, as facts: for programs that show it in their own way. It is printed, too.
#pragma once

#include <string>
#include <vector>

namespace cuda_emu {

struct Report {
  bool fatal = false;  // the program ends now
  std::string kind;    // error or warning
  // What it is about, in a word or two: deadlock, barriers differ, collectives differ, grid barrier, mask, width, lane is
  // gone (a warning), returned (before a barrier, a warning), block waits, shared array, misaligned, address, host memory,
  // device memory, launch, time, stack, arithmetic, trap, float cast (a warning), sanitizer, interrupted, unsupported.
  std::string cause;
  std::string problem;            // one line, without the place
  std::string kernel;             // empty outside a kernel
  std::string launched;           // "file.cu:12"
  std::string at;                 // "file.cu:9", where it happened; empty where that is not known
  const void* address = nullptr;  // of the access that failed, where that is known
  bool has_thread = false;
  unsigned block[3]{}, thread[3]{};  // the one that did it
  struct Group {
    unsigned count;
    std::string doing;    // "waits in __syncthreads() at file.cu:9"
    std::string threads;  // "(0,0,0)-(71,0,0)"
  };
  std::vector<Group> groups;  // the threads of the block
};

using ReportHandler = void (*)(const Report&);

// From now on `handler` gets each report, those that end the program before it does. Returns the one before; null: none.
ReportHandler on_report(ReportHandler handler);

}  // namespace cuda_emu
