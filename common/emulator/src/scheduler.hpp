// Runs the blocks of a launch. Each CUDA thread of a block runs on a fiber, one at a time; fibers are switched only
// where threads wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "async_copy.hpp"
#include "cuda_emu/launch.hpp"
#include "cuda_emu/warp.hpp"
#include "cuda_runtime.h"
#include "device_limits.hpp"
#include "fiber.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "shared_memory.hpp"
#include "tracing.hpp"

namespace cuda_emu {

// The barrier for the blocks of a cooperative launch, each of which runs on an OS thread of its own.
class GridBarrier {
 public:
  enum class Outcome { passed, stuck, launch_failed };

  // Called by the last thread of a block to arrive. Returns `stuck` if all missing blocks have returned.
  Outcome wait(std::uint64_t blocks, const std::atomic<bool>& launch_failed);
  void block_finished();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t waiting_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t round_ = 0;
};

// Detects that all running blocks of an ordinary launch wait for other blocks. In a complete round every running block
// has polled the same memory often, and no thread has finished. Two rounds are needed: a block that found its value in
// the first does not wait in the second.
class Standstill {
 public:
  std::atomic<unsigned> round{0};

  // Called once a round for each of the `running` blocks. Returns true for the last block of the second or a later
  // round.
  bool polls(std::uint64_t running);
  // Returns true if that much time has passed since the second round ended. Called by the block for which polls()
  // returned true.
  bool lasts(std::chrono::milliseconds time) const { return std::chrono::steady_clock::now() - since_ >= time; }
  void progress() {
    if (some_polled_.load(std::memory_order_relaxed)) begin_again();
  }

 private:
  void begin_again();

  std::mutex mutex_;
  std::atomic<bool> some_polled_{false};
  std::uint64_t polling_ = 0;  // blocks
  unsigned complete_rounds_ = 0;
  std::chrono::steady_clock::time_point since_{};
};

struct Launch {
  const Config& config;
  void (*body)(const void* context);
  const void* context;
  unsigned threads;  // in a block
  std::uint64_t blocks;
  std::atomic<unsigned> helpers{0};          // OS threads besides the one that launches
  std::atomic<std::uint64_t> taken{0};       // blocks
  std::atomic<std::uint64_t> finished{0};    // blocks
  std::atomic<std::uint64_t> in_order{0};    // reverse order: blocks taken from the first one on,
  std::atomic<std::uint64_t> in_reverse{0};  // and blocks taken from the last one back
  std::atomic<bool> only_in_order{false};
  std::atomic<bool> failed{false};
  cudaError_t error = cudaErrorLaunchFailure;  // the result if the launch has failed
  GridBarrier grid_barrier{};
  Standstill standstill{};
};

enum class ThreadState : unsigned char {
  running,
  ready,     // may go on
  yielding,  // may go on, but perhaps only spins
  at_block_barrier,
  at_grid_barrier,
  at_warp_collective,
  trapped,
  returned,
};

struct Thread {
  uint3 index;
  ThreadState state;       // stays `returned` until the next block's thread starts
  Fiber* fiber;            // on which it continues
  const Where* where;      // the operation in which it waits
  Collective* collective;  // its part of the warp collective in which it waits
  const void* polled;      // the address polled last
};

struct Warp {
  unsigned waiting;     // lanes that wait in a collective
  unsigned converging;  // lanes that wait in converged_lanes()
  unsigned returned;
};

bool same_place(const Where& a, const Where& b);

// Adds an OS thread to the launch, up to most_helpers().
void add_helper(Launch& launch);
unsigned most_helpers(const Launch& launch);

// Runs blocks of a launch on one OS thread, one after another, until none is left.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(Launch& launch);

  // Called by kernels through the functions of the same names.
  int block_barrier(BarrierVote vote, bool predicate, const Where& where);
  void grid_barrier(const Where& where);
  std::uint64_t warp_collective(Collective& part);
  unsigned converged_lanes(const Where& where);
  void yield(const void* polled);
  [[noreturn]] void trap(const Where& where);

  // Reports the problem and ends the launch with this error.
  [[noreturn]] void fail(Problem problem, cudaError_t error = cudaErrorLaunchFailure);

  const Launch& launch() const { return *launch_; }
  unsigned thread_count() const { return thread_count_; }
  unsigned current_thread() const { return current_; }
  const Thread& thread(unsigned number) const { return threads_[number]; }
  std::vector<bool> started_threads() const;

  // Changes whenever a thread finishes.
  struct Progress {
    std::uint64_t launch, block;
    unsigned returned;
    bool operator==(const Progress& other) const {
      return launch == other.launch && block == other.block && returned == other.returned;
    }
  };
  Progress progress() const { return {launches_, block_, returned_}; }

  // Returns true if an asynchronous copy that starts now is to be carried out at once.
  bool copies_now();

  SharedMemory shared;
  AsyncCopies async_copies;
  BlockTrace trace;

 private:
  static constexpr unsigned kRingSize = 2 * kMaxThreadsPerBlock;
  static constexpr unsigned kWarps = kMaxThreadsPerBlock / kWarpSize;

  // Fibers
  [[noreturn]] static void fiber_entry();
  [[noreturn]] void run_threads();
  void run_next_thread();
  Fiber& spare_fiber();
  Fiber& pick_next();
  void park_and_switch_to(Fiber& next);
  Fiber& resume_ready();
  void enter_thread(unsigned thread);
  void restart_fibers();

  // Blocks and threads
  void prepare(Launch& launch);
  bool begin_block();
  std::uint64_t pick_block(std::uint64_t taken_before);
  void order_threads();
  void finish_thread();
  bool should_start_thread();
  bool has_ready() const { return ring_begin_ != ring_end_; }
  void push_back(unsigned thread);
  void push_front(unsigned thread);
  unsigned pop_ready();
  std::uint64_t random();

  // Waiting
  void block_current(ThreadState state, const Where& where);
  void wait();
  bool arrive_at_barrier(ThreadState state, const Where& where);
  bool barrier_is_complete();
  bool warps_differ_at_barrier() const;
  void warn_once(const Problem& what, const Where& where, unsigned thread);
  void release_barrier();
  unsigned existing_lanes(unsigned warp) const;
  void complete_collective(unsigned warp, unsigned mask);
  void recheck_collectives(unsigned warp);
  void resolve_convergence(unsigned warp);
  void make_lanes_ready(unsigned warp, unsigned lanes);

  void note_poll(const void* polled);
  void rest();
  void report_standstill();
  void report_deadlock();
  [[noreturn]] void leave_launch();

  Launch* launch_ = nullptr;
  std::uint64_t launches_ = 0;
  std::uint64_t block_ = 0;
  bool has_run_block_ = false;
  unsigned yields_ = 0;      // of all threads of the block
  bool has_helper_ = false;  // added because the block seems to wait for another one
  unsigned round_ = 0;       // the Standstill round last seen,
  unsigned rests_ = 0;       // and how often all threads have polled since it began
  Order order_ = Order::forward;
  std::uint64_t random_state_ = 0;

  unsigned thread_count_ = 0;
  unsigned started_ = 0;
  bool start_one_ = false;  // start a thread next, even if others are ready
  unsigned returned_ = 0;
  unsigned current_ = 0;
  unsigned converging_ = 0;  // threads, in all warps

  unsigned arrived_ = 0;  // at the block or grid barrier
  bool divergent_ = false;
  bool at_grid_barrier_ = false;  // at least one of the threads that arrived
  const Where* first_arrival_ = nullptr;
  int votes_ = 0;
  int barrier_votes_ = 0;   // of the barrier that was last released
  bool unanimous_ = false;  // whether all voted true there

  unsigned ring_begin_ = 0;
  unsigned ring_end_ = 0;
  std::uint16_t ring_[kRingSize];  // threads that are ready

  dim3 indexed_block_{0, 0, 0};  // the block shape for which threads_[].index is set
  Thread threads_[kMaxThreadsPerBlock];
  Warp warps_[kWarps];
  std::uint16_t start_order_[kMaxThreadsPerBlock];

  Fiber main_fiber_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> spare_fibers_;
};

// The worker that runs a kernel on this OS thread; null in host code.
inline thread_local Worker* current_worker = nullptr;

[[noreturn]] void called_outside_kernel(const char* operation);

inline Worker& active_worker(const char* operation) {
  if (current_worker == nullptr) called_outside_kernel(operation);
  return *current_worker;
}

}  // namespace cuda_emu
