// The shared memory of the block that a worker runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_emu/device.hpp"

namespace cuda_emu {

// Variables get their place at their first use in a launch, and are filled with 0xff (NaN) at their first use in a
// block: a program may hold many more than one kernel touches.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void begin_launch(std::size_t dynamic_size);
  void begin_block() { ++block_; }

  // After a launch: what was written outside the variables, empty if nothing; always so in the ASan build, which
  // reports such a write itself.
  std::string overrun();

  // Null if the kernel's variables take more memory than a block may have.
  void* variable(unsigned number) {
    if (number < slots_.size() && slots_[number].block == block_) return slots_[number].address;
    return begin_use(number);
  }

  void* dynamic(const char* name, const SharedType& type) {
    if (dynamic_block_ != block_) begin_dynamic_use(name, type);
    return dynamic_;
  }

  // A variable that this launch has used.
  struct Used {
    const char* name;
    const SharedType* type;
    const char* begin;
    std::size_t size;
  };
  // The one at an address, or before it; of several names of dynamic memory the first that was used. Null if none is.
  const Used* find(const char* address) const;

  // Whether the bytes lie where the block's shared memory is. (That they belong to a variable, AddressSanitizer
  // checks.)
  bool contains(const void* begin, std::size_t size) const {
    const char* from = static_cast<const char*>(begin);
    return from >= dynamic_ && from + size <= free_;
  }

  // Whether the bytes, or some of them, lie where guards stand.
  bool behind_variable(const void* begin, std::size_t size) const {
    const char* from = static_cast<const char*>(begin);
    for (const Guard& guard : guards_) {
      if (from + size > guard.begin && from < guard.begin + guard.size) return true;
    }
    return false;
  }

  // Where variables may lie.
  const char* begin() const { return dynamic_; }
  std::size_t capacity() const;

  std::size_t static_size() const { return static_size_; }
  std::size_t dynamic_size() const { return dynamic_size_; }

 private:
  struct Slot {
    std::uint64_t launch = 0;
    std::uint64_t block = 0;
    char* address = nullptr;
  };

  void* begin_use(unsigned number);
  void begin_dynamic_use(const char* name, const SharedType& type);

  char* arena_;
  char* dynamic_;
  char* free_ = nullptr;  // where the next variable goes
  std::size_t dynamic_size_ = 0;
  std::size_t static_size_ = 0;
  std::uint64_t launch_ = 0;  // counts launches, and block_ blocks, of this worker
  std::uint64_t block_ = 0;
  std::uint64_t dynamic_block_ = 0;
  std::vector<Slot> slots_;
  std::vector<Used> used_;

  // What stands behind a variable; nothing writes there.
  struct Guard {
    const char* begin;
    std::size_t size;
    std::size_t variable_size;
    bool dynamic;
  };
  std::vector<Guard> guards_;  // of this launch
};

}  // namespace cuda_emu
