#include "source_line.hpp"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && __has_include(<execinfo.h>)

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cuda_emu {
namespace {

constexpr int kFrames = 32;
constexpr int kHandlerFrames = 8;  // at most, for the handler itself

std::uintptr_t load_address = 0;  // of the program; 0 if it is not position-independent
char program[4096];

std::uintptr_t program_counter(const void* context) {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#else
  return registers.pc;
#endif
}

// Returns the addresses to look up, innermost first: the interrupted instruction, if any, and the calls that led to it.
int frames_at(const void* context, std::uintptr_t* addresses) {
  void* frames[kFrames + kHandlerFrames];
  const int count = backtrace(frames, kFrames + kHandlerFrames);
  int first = 0, found = 0;
  if (context != nullptr) {
    const std::uintptr_t interrupted = program_counter(context);
    addresses[found++] = interrupted - load_address;
    while (first < count && reinterpret_cast<std::uintptr_t>(frames[first]) != interrupted) ++first;
  }
  for (int i = first + 1; i < count && found < kFrames; ++i) {
    // minus 1: the call, not the instruction after it
    addresses[found++] = reinterpret_cast<std::uintptr_t>(frames[i]) - load_address - 1;
  }
  return found;
}

[[noreturn]] void exec_addr2line(const std::uintptr_t* addresses, int count, int output) {
  char texts[kFrames][24];
  char name[] = "addr2line", inlines[] = "-i", executable[] = "-e";
  char* arguments[kFrames + 5] = {name, inlines, executable, program};
  for (int i = 0; i < count; ++i) {
    snprintf(texts[i], sizeof texts[i], "0x%llx", static_cast<unsigned long long>(addresses[i]));
    arguments[4 + i] = texts[i];
  }
  dup2(output, STDOUT_FILENO);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  execvp(name, arguments);
  _exit(1);
}

// Returns true if addr2line's answer, "file:12" or "file:12 (discriminator 3)", names a .cu or .cuh file. Truncates it
// after the number.
bool is_cuda_source(char* line) {
  char* colon = strrchr(line, ':');
  if (colon == nullptr || colon[1] < '1' || colon[1] > '9') return false;
  colon[1 + strspn(colon + 1, "0123456789")] = '\0';
  const auto ends_with = [&](const char* ending) {
    const std::size_t length = strlen(ending);
    return colon - line > static_cast<std::ptrdiff_t>(length) && strncmp(colon - length, ending, length) == 0;
  };
  return ends_with(".cu") || ends_with(".cuh");
}

}  // namespace

void prepare_source_lines() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // the first call loads a library, which a signal handler must not do
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = '\0';
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        load_address = info->dlpi_addr;
        return 1;  // the program comes first
      },
      nullptr);
}

bool find_source_line(const void* context, char* text, std::size_t size) {
  std::uintptr_t addresses[kFrames];
  const int count = frames_at(context, addresses);
  int ends[2];
  if (*program == '\0' || pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) exec_addr2line(addresses, count, ends[1]);
  close(ends[1]);
  bool found = false;
  std::size_t used = 0;
  for (char byte; child > 0 && read(ends[0], &byte, 1) == 1;) {
    if (found) continue;  // read to the end, or addr2line would block
    text[used] = byte == '\n' ? '\0' : byte;
    if (byte == '\n') found = is_cuda_source(text);
    used = byte == '\n' ? 0 : used + (used + 1 < size);
  }
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return found;
}

}  // namespace cuda_emu

#else

namespace cuda_emu {

void prepare_source_lines() {}
bool find_source_line(const void*, char*, std::size_t) { return false; }

}  // namespace cuda_emu

#endif
