// Runs a test's helper program and reads what it prints.
#pragma once
#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#ifndef LADDER_RUN_BY
#define LADDER_RUN_BY ""  // qemu, for programs of another machine
#endif

struct Outcome {
  int status;          // the exit status, or 128 + the signal that ended it
  std::string output;  // stdout and stderr

  bool has(const std::string& text) const { return output.find(text) != std::string::npos; }
};

// `environment` is of the form "NAME=value NAME=value".
inline Outcome run_program(const std::string& program, const std::string& arguments,
                           const std::string& environment = "") {
  const std::string command = environment + " exec " LADDER_RUN_BY " '" + program + "' " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  Outcome outcome{};
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.output.append(buffer, n);
  const int status = pclose(pipe);
  outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}
