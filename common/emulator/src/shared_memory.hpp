// The shared memory of the block that a worker runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_emu/device.hpp"

namespace cuda_emu {

// A variable is allocated at its first use in a launch, because a program may have many more variables than a kernel
// uses. It is filled with settings().fill (by default 0xff, NaN) at its first use in a block.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void begin_launch(std::size_t dynamic_size);
  void begin_block() { ++block_; }

  // Describes a write outside the variables, after a launch; empty if there was none, and always in the ASan build,
  // which reports such a write itself.
  std::string overrun();

  // Returns the variable's address, or null if the kernel's variables need more memory than a block may have.
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
  // Returns the variable at the address, else the last one before it; null if there is none. If dynamic memory has
  // several names, it is listed under the first one used.
  const Used* find(const char* address) const;

  // Returns true if the bytes are in the block's shared memory. ASan checks that they belong to a variable.
  bool contains(const void* begin, std::size_t size) const {
    const char* from = static_cast<const char*>(begin);
    return from >= dynamic_ && from + size <= free_;
  }

  // Returns true if at least one of the bytes is in a guard.
  bool behind_variable(const void* begin, std::size_t size) const {
    const char* from = static_cast<const char*>(begin);
    for (const Guard& guard : guards_) {
      if (from + size > guard.begin && from < guard.begin + guard.size) return true;
    }
    return false;
  }

  // The memory for variables.
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
  char* free_ = nullptr;  // address of the next variable
  std::size_t dynamic_size_ = 0;
  std::size_t static_size_ = 0;
  std::uint64_t launch_ = 0;  // counts launches, and block_ blocks, of this worker
  std::uint64_t block_ = 0;
  std::uint64_t dynamic_block_ = 0;
  std::vector<Slot> slots_;
  std::vector<Used> used_;

  // The bytes behind a variable, which no correct kernel writes.
  struct Guard {
    const char* begin;
    std::size_t size;
    std::size_t variable_size;
    bool dynamic;
  };
  std::vector<Guard> guards_;  // of this launch
};

}  // namespace cuda_emu
