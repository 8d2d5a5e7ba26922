#include "lines.hpp"

#include <link.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuda_emu::trace {
namespace {

std::uintptr_t find_load_address() {
  std::uintptr_t result = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* address) {
        *static_cast<std::uintptr_t*>(address) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &result);
  return result;
}

// An addr2line process, started once, because it takes long to read the lines of a large program.
class Addr2line {
 public:
  Addr2line() {
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    int to[2], from[2];
    if (length < 0 || pipe(to) != 0 || pipe(from) != 0) fail();
    program[length] = '\0';
    const pid_t child = fork();
    if (child < 0) fail();
    if (child == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      execlp("addr2line", "addr2line", "-a", "-i", "-e", program, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    questions_ = fdopen(to[1], "w");
    answers_ = fdopen(from[0], "r");
    if (questions_ == nullptr || answers_ == nullptr) fail();
  }

  Line ask(std::uintptr_t address) {
    // The end of an answer is not marked. So a second question follows, whose answer is known, to mark it.
    fprintf(questions_, "0x%llx\n0x0\n", static_cast<unsigned long long>(address));
    fflush(questions_);
    Line found;
    int addresses = 0;
    char text[4096];
    while (fgets(text, sizeof text, answers_) != nullptr) {
      if (strncmp(text, "0x", 2) == 0) {
        ++addresses;
      } else if (addresses == 2) {
        return found;
      } else if (found.number == 0) {
        found = cuda_line(text);
      }
    }
    fail();
  }

 private:
  [[noreturn]] static void fail() {
    fprintf(stderr, "cuda_emu: error: a traced build needs addr2line, of binutils, to find lines of the source\n");
    exit(2);
  }

  // Parses "file:12" or "file:12 (discriminator 3)". Returns line 0 if it is not a .cu or .cuh file.
  static Line cuda_line(char* text) {
    char* colon = strrchr(text, ':');
    if (colon == nullptr) return {};
    *colon = '\0';
    const std::string file = text;
    const auto ends_with = [&](const std::string& ending) {
      return file.size() > ending.size() && file.compare(file.size() - ending.size(), ending.size(), ending) == 0;
    };
    return ends_with(".cu") || ends_with(".cuh") ? Line{file, atoi(colon + 1)} : Line{};
  }

  FILE* questions_ = nullptr;
  FILE* answers_ = nullptr;
};

}  // namespace

std::vector<Line> find_lines(const std::vector<const void*>& return_addresses) {
  static Addr2line& addr2line = *new Addr2line;
  static const std::uintptr_t load_address = find_load_address();
  std::vector<Line> lines;
  for (const void* address : return_addresses) {
    // minus 1: the call, not the instruction after it
    lines.push_back(addr2line.ask(reinterpret_cast<std::uintptr_t>(address) - load_address - 1));
  }
  return lines;
}

}  // namespace cuda_emu::trace
