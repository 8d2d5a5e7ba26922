// The trace of the block that a worker runs. Accesses and basic blocks of every lane are recorded until no lane of its
// warp can run, and are then replayed in lockstep, as a GPU would issue them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "recorder.hpp"

namespace cuda_emu {

class SharedMemory;

class BlockTrace {
 public:
  bool on() const { return on_; }

  // Called before the first and after the last block of a launch that the worker runs.
  void begin_run();
  void end_run(bool failed);

  void begin_block(std::uint64_t block, unsigned threads, const SharedMemory& shared);
  void enter(unsigned thread) { current_ = thread; }

  // stop: a thread waits. go_on: lanes continue. meet: lanes have met in a warp collective; `orders` if it also orders
  // their accesses, as __syncwarp does.
  void stop(unsigned thread);
  void go_on(unsigned warp, unsigned lanes);
  void meet(unsigned warp, unsigned lanes, bool orders);
  void returned(unsigned thread) { stop(thread); }

  void block_barrier();
  void grid_barrier();

  // Called when the thread perhaps waits for another block.
  void pass_on();
  void before_grid_wait();
  void after_grid_wait();

  // Called by kernels, see hooks.cpp.
  void access(const void* memory, std::size_t size, trace::Op op, const void* return_address, bool async = false);
  // As access(). The launch fails unless the address is a multiple of min(size, 8).
  void aligned_access(const void* memory, std::size_t size, trace::Op op, const void* return_address);
  void basic_block(const void* return_address);
  void enter_function();
  void leave_function() { --depth_[current_]; }
  void fence();
  // Called when the thread has waited for its asynchronous copy to `memory`.
  void copied(const void* memory, std::size_t size);

  static inline thread_local BlockTrace* active = nullptr;

 private:
  static constexpr unsigned kThreads = 1024;
  static constexpr unsigned kWarps = kThreads / 32;

  enum class What : std::uint8_t { basic_block, access, landing, meeting };
  struct Event {
    std::uint64_t address;  // shared memory: offset from its start; meeting: mask of the lanes
    trace::SiteId site;     // meeting: index in Executed::meetings
    What what;
    std::uint8_t depth;      // of function calls
    std::uint32_t executed;  // see trace::WarpEvent; 0: not kept
  };
  // The events of a warp's lanes that are not replayed yet.
  struct Replay {
    std::array<const Event*, 32> next{}, end{};
    unsigned left = 0;  // lanes
  };

  void single_access(std::uintptr_t address, unsigned width, trace::Op op, const void* return_address, bool async);
  [[noreturn]] void fail(const char* cause, const char* what, const char* why, trace::Op op, const void* return_address,
                         std::uintptr_t address, cudaError_t error = cudaErrorIllegalAddress) const;
  void check_races(trace::Shadow& shadow, std::uintptr_t address, unsigned width, trace::Space space,
                   const trace::Stamp& stamp);
  bool ordered(const trace::Stamp& before, const trace::Stamp& now, trace::Space space) const;
  bool fenced(const trace::Stamp& before, std::uint64_t block) const;

  void replay(unsigned warp);
  unsigned next_group(const Replay& state, unsigned warp) const;
  static unsigned lanes_that_met(const Replay& state);
  void replay_basic_block(const Replay& state, unsigned lanes, unsigned warp);
  void replay_access(const Replay& state, unsigned lanes, unsigned warp);
  void replay_landing(const Replay& state, unsigned lanes, unsigned warp);
  void sample(trace::Site& site, const trace::Request& request, trace::Cost cost, unsigned warp);

  // Records events for films: see events.cpp.
  std::uint32_t note_access(const void* memory, unsigned width, trace::SiteId site);
  void settle();
  void forget_poll();
  void note_landing(const void* memory);
  trace::SiteId note_meeting(unsigned warp, unsigned lanes, std::array<std::uint32_t, 32>& executed);
  void keep_request(trace::WarpEvent::Kind kind, unsigned warp, const Replay& state, const trace::Site& site,
                    const trace::Request& request, trace::Cost cost);
  std::size_t shared_array(std::uint64_t address) const;
  void keep_meeting(unsigned warp, unsigned lanes, trace::SiteId meeting,
                    const std::array<std::uint32_t, 32>& executed);
  void note_stop(unsigned thread);
  void keep_stops(unsigned warp, bool failed = false);
  void keep_failed_launch();
  trace::WarpEvent new_event(trace::WarpEvent::Kind kind, unsigned warp, unsigned lanes) const;

  void join_shared_load(trace::Request request, trace::SiteId site);
  void end_joining();

  bool on_ = false;
  std::uint64_t block_ = 0;
  unsigned threads_ = 0;
  unsigned current_ = 0;
  std::uint32_t epoch_ = 0;
  unsigned grid_barriers_ = 0;
  std::uint32_t last_atomic_ = 0;  // time of the block's last atomic operation
  // Time of each thread's last atomic operation, or of that of a lane that it has met since.
  std::array<std::uint32_t, kThreads> atomic_of_{};
  const SharedMemory* memory_ = nullptr;
  std::uintptr_t shared_begin_ = 0;
  std::unique_ptr<trace::Shadow> shared_;

  std::array<std::vector<Event>, kThreads> events_;
  // For each thread: the depth of its function calls, and for each depth the basic blocks recorded and replayed last.
  static constexpr unsigned kDepths = 16;
  std::array<std::uint8_t, kThreads> depth_{};
  using Blocks = std::array<trace::SiteId, kDepths>;
  std::array<Blocks, kThreads> recorded_block_{};
  std::array<Blocks, 32 * kWarps> replayed_block_{};
  std::array<unsigned, kWarps> running_{};  // lanes, including those that have not started
  // [warp][lane][other]: accesses of `other` before this time are ordered before those of `lane`.
  std::array<std::array<std::array<std::uint32_t, 32>, 32>, kWarps> known_{};

  struct Joining {
    trace::Request request;
    trace::SiteId site;  // of its lowest address
  };
  std::vector<Joining> joining_;  // shared loads of the warp that is replayed

  // Stores that the running thread is about to make, and asynchronous copies that no thread has waited for.
  struct Store {
    std::uint32_t executed;
    unsigned thread;
    trace::SiteId site;
    const void* memory;
    unsigned width;
  };
  std::vector<Store> stores_, copies_;
  std::array<std::uint32_t, kThreads> stopped_{};  // number of each thread's stop that is not recorded yet; 0: none
};

namespace trace {

inline bool is_on() { return Recorder::get().on; }
inline void begin_launch(const Config& config, const void* arguments, std::size_t size) {
  Recorder::get().begin_launch(config, arguments, size);
}
inline void end_launch() { Recorder::get().end_launch(); }

// While the object lives, nothing that this OS thread does is traced.
class Pause {
 public:
  Pause() : active_(std::exchange(BlockTrace::active, nullptr)) {}
  ~Pause() { BlockTrace::active = active_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  BlockTrace* active_;
};

}  // namespace trace

}  // namespace cuda_emu
