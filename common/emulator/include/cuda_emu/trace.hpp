// Traces the memory accesses of kernels, in a build with the CMake option CUDA_EMU_TRACE. Counts per warp, as on a GPU,
// the 32-byte sectors and shared-memory wavefronts of each source line and the active lanes, and finds races. Only
// launches between start() and stop() are traced.
//
// The accesses are those that the host compiler generates; nvcc may remove or merge others. The cost of a request
// follows from the addresses of its lanes alone. Registers and local memory cannot be told apart, so neither is
// counted. No times are estimated.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device.hpp"

namespace cuda_emu::trace {

enum class Space : std::uint8_t { global, shared, constant };
enum class Op : std::uint8_t { load, store, atomic };

const char* name(Space space);
const char* name(Op op);

struct Line {
  std::string file;  // as the compiler names it
  int number = 0;
  bool operator==(const Line& other) const { return number == other.number && file == other.file; }
  bool operator<(const Line& other) const { return number != other.number ? number < other.number : file < other.file; }
};

// One request: an access that lanes of a warp make together.
struct Sample {
  static constexpr std::int64_t kInactive = -1;
  uint3 block{};
  unsigned warp = 0;
  unsigned units = 0;
  unsigned ideal = 0;
  int allocation = -1;                     // global memory: its number, by first use in the launch
  std::array<std::int64_t, 32> offsets{};  // bytes from the start of the allocation, or of the block's shared memory
  std::array<int, 32> passes{};            // shared memory: the wavefront that serves the lane
};

struct Counts {
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;            // active lanes, over all requests
  std::uint64_t units = 0;            // sectors of 32 bytes; shared memory: wavefronts; constants: distinct words
  std::uint64_t ideal = 0;            // the fewest for as many bytes; shared memory: without bank conflicts
  std::uint64_t bytes_requested = 0;  // by all lanes
  std::uint64_t bytes_moved = 0;
  Counts& operator+=(const Counts& other);
};

// All requests of one access in the source.
struct Access : Counts {
  Line line;
  Space space{};
  Op op{};
  unsigned width = 0;         // bytes per lane
  bool async = false;         // the load or the store of an asynchronous copy
  Counts merged;              // shared loads: with adjacent ones merged to 8 or 16 bytes, as nvcc does
  unsigned worst = 0;         // the most units of one request
  unsigned same_address = 0;  // atomics: the most lanes of one request at one address
  std::map<unsigned, std::uint64_t> histogram;  // units of a request -> number of requests
  std::vector<Sample> samples;                  // the first requests of the first warp
  Sample worst_sample;
};

// The basic blocks that begin at a line.
struct Branches {
  Line line;
  std::uint64_t warp_steps = 0;  // how often a warp executed one
  std::uint64_t lane_steps = 0;  // the sum of the active lanes
  std::uint64_t branches = 0;    // warp_steps of blocks with several successors
  std::uint64_t divergent = 0;   // branches at which lanes of a warp took different paths
};

// Two unordered accesses to the same bytes, at least one of them a write.
struct Race {
  enum class Kind : std::uint8_t { write_after_read, read_after_write, write_after_write };
  struct Side {
    Line line;
    Op op{};
    uint3 block{};
    uint3 thread{};
  };
  Kind kind{};
  Space space{};
  bool between_blocks = false;
  Side first, second;
  std::uint64_t count = 0;
  // With events: the numbers of both accesses (WarpEvent::Part::executed), each time, at most kMost times.
  static constexpr std::size_t kMost = 1 << 16;
  std::vector<std::array<std::uint32_t, 2>> executed;
};

const char* name(Race::Kind kind);

// An action that lanes of a warp took together: an access, the landing of an asynchronous copy that was waited for, a
// warp collective, a wait, or a return; or a block barrier that released all warps. Events are in the order of the
// replay. Each lane's part has a number that counts from 1 in the order of execution.
struct WarpEvent {
  enum class Kind : std::uint8_t { access, landing, collective, wait, returned, barrier };
  struct Part {  // of a lane
    std::uint32_t executed = 0;
    std::uint64_t address = 0;  // shared memory: offset from its start
    // The value loaded or stored. Atomic operation of up to 8 bytes: the new value, and from the third word on the old
    // one. Collective: the lane's value; its result; in a shuffle 1 + the source lane; and 0 if the values are wider
    // than a word, else 1 for integers, 2 for floats.
    std::array<std::uint32_t, 4> words{};
    int pass = -1;  // shared memory: the wavefront that serves the lane
  };
  Kind kind{};
  std::uint64_t block = 0;
  unsigned warp = 0;
  unsigned lanes = 0;     // mask
  const char* what = "";  // collective or wait: the function's name
  Line line;              // number 0: none
  Space space{};          // this and the following: only for accesses
  Op op{};
  unsigned width = 0;
  bool async = false;
  unsigned units = 0, ideal = 0;
  std::size_t array = 0;                 // shared memory: index in Launch::shared_arrays
  const void* return_address = nullptr;  // converted to `line` when the launch ends
  std::vector<Part> parts;               // of the active lanes
};
const char* name(WarpEvent::Kind kind);

// A __shared__ variable that a launch used.
struct SharedArray {
  const char* name = "";
  const SharedType* type = nullptr;
  std::uint64_t begin = 0;  // from the start of the block's shared memory
  std::size_t bytes = 0;
};

// Device memory that a launch touched.
struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

struct Launch {
  std::string kernel;
  Line line;
  dim3 grid, block;
  bool cooperative = false;
  std::size_t shared_bytes = 0;
  std::uint64_t warp_steps = 0, lane_steps = 0, branches = 0, divergent_branches = 0;
  std::vector<Access> accesses;  // by line
  std::vector<Branches> branches_at;
  std::vector<Race> races;
  Counts merged_shared_loads;     // the sum of Access::merged
  std::vector<WarpEvent> events;  // if requested
  bool all_events = true;         // false if there were too many; then `events` are the first ones
  std::vector<SharedArray> shared_arrays;
  std::vector<Allocation> allocations;

  Counts total(Space space, Op op) const;
};

// Starts tracing launches, in which one OS thread at a time runs. With `events` all events are kept.
void start(bool events = false);
// Ends tracing and returns the traced launches.
std::vector<Launch> stop();

// Starts recording the last write of a kernel, traced or not, to these bytes.
void watch_last_write(const void* memory, std::size_t size);
// Ends it and returns "sum.cu:12, thread (3,0,0) of block (0,0,0), in kernel sum"; empty if no kernel wrote there.
std::string last_write();

}  // namespace cuda_emu::trace
