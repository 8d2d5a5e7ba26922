#include "shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "cuda_emu/device.hpp"
#include "device_limits.hpp"
#include "sanitizers.hpp"
#include "scheduler.hpp"
#include "settings.hpp"

namespace cuda_emu {
namespace {

constexpr std::size_t kRedZone = 128;        // a multiple of 32 banks: variables keep their banks
constexpr std::size_t kArenaSize = 1 << 20;  // a block's maximum, and red zones around thousands of variables
constexpr std::size_t kBehind = 8 << 10;     // bytes of NaN behind the last variable, without ASan

struct Variable {
  const char* name;
  const SharedType* type;
  std::size_t alignment;
};

struct Registry {
  std::mutex mutex;
  std::vector<Variable> variables;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

Variable find_variable(unsigned number) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().variables[number];
}

char* align_up(char* address, std::size_t alignment) {
  const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(address);
  return address + (alignment - value % alignment) % alignment;
}

// Fills the memory behind the last variable with NaN: a 0 read there would not show in a sum.
void fill_behind(char* end) {
  if (!kAsan) memset(end, 0xff, kBehind);
}

}  // namespace

SharedMemory::SharedMemory() {
  void* mapping = mmap(nullptr, kArenaSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    perror("cuda_emu: error: no memory for shared memory");
    _Exit(2);
  }
  arena_ = static_cast<char*>(mapping);
  dynamic_ = arena_ + 1024;  // aligned, with a red zone before it
}

SharedMemory::~SharedMemory() {
  unpoison(arena_, kArenaSize);
  munmap(arena_, kArenaSize);
}

std::size_t SharedMemory::capacity() const { return static_cast<std::size_t>(arena_ + kArenaSize - dynamic_); }

void SharedMemory::begin_launch(std::size_t dynamic_size) {
  ++launch_;
  dynamic_size_ = dynamic_size;
  static_size_ = 0;
  free_ = align_up(dynamic_ + dynamic_size + (kAsan ? kRedZone : kBehind), 128);
  fill_behind(dynamic_ + dynamic_size);
  fill_behind(free_);
  guards_.clear();
  used_.clear();
  if (!kAsan) guards_.push_back({dynamic_ + dynamic_size, kBehind, dynamic_size, true});
  poison(arena_, kArenaSize);
}

void* SharedMemory::begin_use(unsigned number) {
  const Variable variable = find_variable(number);
  const std::size_t size = variable.type->size;
  if (slots_.size() <= number) slots_.resize(number + 1);
  Slot& slot = slots_[number];
  if (slot.launch != launch_) {
    const std::size_t alignment = variable.alignment < 16 && kAsan ? 16 : variable.alignment;
    char* address = align_up(free_, alignment);
    char* end = address + size + kRedZone;
    static_size_ += size;
    if (static_size_ > kSharedPerBlock || static_size_ + dynamic_size_ > kSharedPerBlockOptin ||
        end + kBehind > arena_ + kArenaSize) {
      return nullptr;
    }
    free_ = end;
    fill_behind(address + size);
    if (!kAsan) guards_.push_back({address + size, kRedZone, size, false});
    used_.push_back({variable.name, variable.type, address, size});
    slot.launch = launch_;
    slot.address = address;
    unpoison(address, size);
  }
  slot.block = block_;
  memset(slot.address, settings().fill, size);
  return slot.address;
}

std::string SharedMemory::overrun() {
  static const std::vector<char> intact(kBehind, '\xff');
  for (const Guard& guard : guards_) {
    if (memcmp(guard.begin, intact.data(), guard.size) == 0) continue;
    const std::size_t at = static_cast<std::size_t>(
        std::mismatch(guard.begin, guard.begin + guard.size, intact.begin()).first - guard.begin);
    const std::string where = std::to_string(at) + " bytes past the end of ";
    if (guard.dynamic && guard.variable_size == 0) {
      return "extern __shared__ memory was written, but the launch asks for none: k<<<grid, block, bytes>>>";
    }
    return "shared memory was written " + where +
           (guard.dynamic ? "the " + std::to_string(guard.variable_size) + " bytes that the launch asks for"
                          : "a variable of " + std::to_string(guard.variable_size) + " bytes");
  }
  return "";
}

const SharedMemory::Used* SharedMemory::find(const char* address) const {
  const Used* found = nullptr;
  for (const Used& one : used_) {
    if (one.begin <= address && (found == nullptr || one.begin > found->begin)) found = &one;
  }
  return found;
}

void SharedMemory::begin_dynamic_use(const char* name, const SharedType& type) {
  if (find(dynamic_) == nullptr) used_.push_back({name, &type, dynamic_, dynamic_size_});
  dynamic_block_ = block_;
  unpoison(dynamic_, dynamic_size_);
  memset(dynamic_, settings().fill, dynamic_size_);
}

unsigned register_shared(const char* name, const SharedType& type, std::size_t alignment) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().variables.push_back({name, &type, alignment});
  return static_cast<unsigned>(registry().variables.size() - 1);
}

void* shared_memory(unsigned variable) {
  Worker& worker = active_worker("a __shared__ variable");
  void* memory = worker.shared.variable(variable);
  if (memory == nullptr) {
    char problem[160];
    snprintf(problem, sizeof problem,
             "too much shared memory: %zu bytes of __shared__ variables (at most %zu) and %zu dynamic (together at "
             "most %zu)",
             worker.shared.static_size(), kSharedPerBlock, worker.shared.dynamic_size(), kSharedPerBlockOptin);
    worker.fail({"shared array", problem});
  }
  return memory;
}

void* dynamic_shared_memory(const char* name, const SharedType& type) {
  return active_worker("extern __shared__ memory").shared.dynamic(name, type);
}

}  // namespace cuda_emu
