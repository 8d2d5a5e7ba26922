#include "settings.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "sanitizers.hpp"

namespace cuda_emu {
namespace {

constexpr unsigned kMaxWorkers = 16;  // stacks of 1024 threads each must stay below Linux's limit of mappings
constexpr unsigned kMaxDefaultWorkers = 8;
constexpr std::uint64_t kMinStackKiB = 16;
constexpr std::uint64_t kMaxStackKiB = 65536;
constexpr std::uint64_t kDefaultStackKiB = 256;
constexpr std::uint64_t kMaxTimeout = 86400;
constexpr std::uint64_t kDefaultTimeout = 60;
constexpr std::uint64_t kMaxMultiprocessors = 1024;
constexpr std::size_t kAsanStackFactor = 4;  // red zones make frames larger

bool parse_number(const char* text, std::uint64_t low, std::uint64_t high, std::uint64_t* number) {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*end != '\0' || errno != 0 || value < low || value > high) return false;
  *number = value;
  return true;
}

bool parse_order(const char* text, Settings* settings) {
  constexpr char kRandom[] = "random:";
  constexpr std::uint64_t kDefaultSeed = 1;
  if (strcmp(text, "forward") == 0) {
    settings->order = Order::forward;
  } else if (strcmp(text, "reverse") == 0) {
    settings->order = Order::reverse;
  } else if (strcmp(text, "random") == 0) {
    settings->order = Order::random;
    settings->seed = kDefaultSeed;
  } else if (strncmp(text, kRandom, sizeof kRandom - 1) == 0 &&
             parse_number(text + sizeof kRandom - 1, 0, UINT64_MAX, &settings->seed)) {
    settings->order = Order::random;
  } else {
    return false;
  }
  return true;
}

// Bytes 0xff are NaN, or -1; bytes 0x7e are 8.4e37 in float, 1.9e300 in double, 2,122,219,134 in int.
bool parse_fill(const char* text, Settings* settings) {
  if (strcmp(text, "nan") != 0 && strcmp(text, "large") != 0 && strcmp(text, "zeros") != 0) return false;
  settings->fill = *text == 'n' ? 0xff : *text == 'l' ? 0x7e : 0;
  return true;
}

// Calls _Exit, because destructors could wait for a launch that never ends.
[[noreturn]] void reject(const char* name, const char* value, const char* expected) {
  fprintf(stderr, "cuda_emu: error: %s='%s': expected %s\n", name, value, expected);
  _Exit(2);
}

std::uint64_t number_from_environment(const char* name, std::uint64_t low, std::uint64_t high, std::uint64_t fallback) {
  const char* value = getenv(name);
  if (value == nullptr) return fallback;
  std::uint64_t number = 0;
  if (!parse_number(value, low, high, &number)) {
    char expected[64];
    snprintf(expected, sizeof expected, "a whole number from %llu to %llu", static_cast<unsigned long long>(low),
             static_cast<unsigned long long>(high));
    reject(name, value, expected);
  }
  return number;
}

Settings read_environment() {
  Settings result;
  const char* order = getenv("CUDA_EMU_ORDER");
  if (order != nullptr && !parse_order(order, &result)) {
    reject("CUDA_EMU_ORDER", order, "forward, reverse, random or random:SEED");
  }
  const char* fill = getenv("CUDA_EMU_FILL");
  if (fill != nullptr && !parse_fill(fill, &result)) reject("CUDA_EMU_FILL", fill, "nan, large or zeros");
  unsigned workers = std::thread::hardware_concurrency();
  if (workers < 1) workers = 1;
  if (workers > kMaxDefaultWorkers) workers = kMaxDefaultWorkers;
  result.workers = static_cast<unsigned>(number_from_environment("CUDA_EMU_WORKERS", 1, kMaxWorkers, workers));
  result.stack_size = number_from_environment("CUDA_EMU_STACK", kMinStackKiB, kMaxStackKiB, kDefaultStackKiB) << 10;
  if (kAsan) result.stack_size *= kAsanStackFactor;
  result.timeout = static_cast<unsigned>(number_from_environment("CUDA_EMU_TIMEOUT", 0, kMaxTimeout, kDefaultTimeout));
  result.multiprocessors = static_cast<unsigned>(
      number_from_environment("CUDA_EMU_MULTIPROCESSORS", 1, kMaxMultiprocessors, kDefaultMultiprocessors));
  return result;
}

// Read at start, so a bad value ends the program before its first launch.
[[maybe_unused]] const bool read_at_start = (settings(), true);

}  // namespace

Settings& settings() {
  static Settings instance = read_environment();
  return instance;
}

bool set_order(const char* order) { return parse_order(order, &settings()); }

const char* order_name() {
  static char name[32];
  switch (settings().order) {
    case Order::forward:
      return "forward";
    case Order::reverse:
      return "reverse";
    case Order::random:
      break;
  }
  snprintf(name, sizeof name, "random:%llu", static_cast<unsigned long long>(settings().seed));
  return name;
}

void set_launches_only(bool on) { settings().launches_only = on; }

bool set_fill(const char* fill) { return parse_fill(fill, &settings()); }

bool set_workers(unsigned workers) {
  if (workers < 1 || workers > kMaxWorkers) return false;
  settings().workers = workers;
  return true;
}

unsigned worker_count() { return settings().workers; }

}  // namespace cuda_emu
