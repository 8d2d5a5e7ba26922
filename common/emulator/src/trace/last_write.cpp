#include "last_write.hpp"

#include <cstdio>
#include <mutex>
#include <string>

#include "cuda_emu/trace.hpp"
#include "lines.hpp"
#include "scheduler.hpp"

namespace cuda_emu::trace {
namespace {

std::mutex mutex;  // blocks may run in parallel
const void* place = nullptr;
std::string thread;

}  // namespace

void record_write(const void* return_address) {
  if (current_worker == nullptr) return;  // host code
  char text[256];
  snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u), in kernel %s", threadIdx.x, threadIdx.y,
           threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z, current_worker->launch().config.kernel);
  std::lock_guard<std::mutex> lock(mutex);
  place = return_address;
  thread = text;
}

void watch_last_write(const void* memory, std::size_t size) {
  place = nullptr;
  watched = {static_cast<const char*>(memory), static_cast<const char*>(memory) + size};
}

std::string last_write() {
  watched = {};
  if (place == nullptr) return "";
  const Line line = find_lines({place}).front();
  return (line.number > 0 ? line.file + ":" + std::to_string(line.number) + ", " : "") + thread;
}

}  // namespace cuda_emu::trace
