// Separates what a step prints from the program's own output.
#pragma once
#include "problem.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace ladder {

// Redirects standard output to the open file `target` during its lifetime; not if `target` is below 0.
class Redirected {
 public:
  explicit Redirected(int target) {
    if (target < 0) return;
    std::fflush(stdout);
    before_ = dup(STDOUT_FILENO);
    dup2(target, STDOUT_FILENO);
  }
  ~Redirected() {
    if (before_ < 0) return;
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int before_ = -1;
};

// Its lifetime spans one run of a step. With --printed, the run's output replaces the contents of that file. Otherwise
// it goes to standard output, and a line that the step left unfinished is ended.
class Printed {
 public:
  static void to(const std::string& path) {
    file() = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (file() < 0) throw UsageError("--printed: cannot write '" + path + "'");
  }

  Printed() : redirected_(file()) {
    if (file() >= 0 && ftruncate(file(), 0) != 0) std::perror("--printed");
  }
  ~Printed() {
    if (file() < 0 && __fpending(stdout) > 0) std::putchar('\n');
  }

 private:
  static int& file() {
    static int descriptor = -1;
    return descriptor;
  }
  Redirected redirected_;
};

// Discards standard output during its lifetime: while steps are timed, each run would print the same.
class Unprinted {
 public:
  Unprinted() : file_(open("/dev/null", O_WRONLY | O_CLOEXEC)), redirected_(file_) {}
  ~Unprinted() { close(file_); }

 private:
  int file_;
  Redirected redirected_;
};

}  // namespace ladder
