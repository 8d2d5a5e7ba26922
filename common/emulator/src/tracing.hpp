// The calls by which the scheduler and the launch inform the trace. They do nothing unless CUDA_EMU_TRACE is defined.
#pragma once

#include <cstdint>

#include "cuda_emu/launch.hpp"

#ifdef CUDA_EMU_TRACE
#include "trace/block_trace.hpp"
#else

namespace cuda_emu {

class SharedMemory;

struct BlockTrace {
  static constexpr bool on() { return false; }
  void begin_run() {}
  void end_run(bool) {}
  void begin_block(std::uint64_t, unsigned, const SharedMemory&) {}
  void enter(unsigned) {}
  void stop(unsigned) {}
  void go_on(unsigned, unsigned) {}
  void meet(unsigned, unsigned, bool) {}
  void returned(unsigned) {}
  void block_barrier() {}
  void grid_barrier() {}
  void copied(const void*, std::size_t) {}
  void pass_on() {}
  void before_grid_wait() {}
  void after_grid_wait() {}
};

namespace trace {
constexpr bool is_on() { return false; }
inline void begin_launch(const Config&, const void*, std::size_t) {}
inline void end_launch() {}
struct Pause {};
}  // namespace trace

}  // namespace cuda_emu
#endif
