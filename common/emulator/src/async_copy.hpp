// The asynchronous copies of a block's threads that have not been carried out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_emu {

class AsyncCopies {
 public:
  // Drops the copies of the previous block that no thread waited for.
  void begin_block() {
    if (used_) threads_.assign(threads_.size(), {});
    used_ = false;
  }

  void add(unsigned thread, void* to, const void* from, std::size_t size, std::size_t zeros) {
    Queue& queue = of(thread);
    queue.copies.push_back({static_cast<char*>(to), static_cast<const char*>(from), queue.batch,
                            static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(zeros)});
  }

  void commit(unsigned thread) { ++of(thread).batch; }

  // Carries out all batches of the thread but the last `batches_left`.
  void finish(unsigned thread, std::size_t batches_left);

  static void copy(void* to, const void* from, std::size_t size, std::size_t zeros);

 private:
  struct Copy {
    char* to;
    const char* from;
    std::uint64_t batch;
    std::uint8_t size, zeros;
  };
  struct Queue {
    std::vector<Copy> copies;  // in the order of the calls
    std::uint64_t batch = 0;   // the one that is being filled
  };

  Queue& of(unsigned thread) {
    used_ = true;
    if (threads_.size() <= thread) threads_.resize(thread + 1);
    return threads_[thread];
  }

  bool used_ = false;
  std::vector<Queue> threads_;
};

}  // namespace cuda_emu
