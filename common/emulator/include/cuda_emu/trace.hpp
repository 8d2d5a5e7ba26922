// What the kernels of a traced build (CMake: CUDA_EMU_TRACE) do to memory, counted by warps as the hardware would: how
// many 32-byte sectors and shared-memory wavefronts each source line takes, how many lanes are active, and which
// accesses race. Only launches between start() and stop() are traced.
//
// Accesses are those of the source as the host compiler sees it: it may leave out or merge others than nvcc does. What
// one request takes follows from its lanes' addresses alone. Registers and local memory are not told apart, so neither
// is counted. Nothing here says how long anything takes.
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

// One request: an access of the lanes of a warp that are together.
struct Sample {
  static constexpr std::int64_t kInactive = -1;
  uint3 block{};
  unsigned warp = 0;
  unsigned units = 0;
  unsigned ideal = 0;
  int allocation = -1;                     // global memory: which, numbered by first use in the launch
  std::array<std::int64_t, 32> offsets{};  // bytes from the start of the allocation, or of the block's shared memory
  std::array<int, 32> passes{};            // shared memory: the wavefront that serves the lane
};

struct Counts {
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;            // active, of all requests
  std::uint64_t units = 0;            // sectors of 32 bytes; shared memory: wavefronts; constants: different words
  std::uint64_t ideal = 0;            // the fewest for so many bytes; shared memory: without bank conflicts
  std::uint64_t bytes_requested = 0;  // of all lanes
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
  Counts merged;              // shared loads: with neighbouring ones made one of 8 or 16 bytes, as nvcc does
  unsigned worst = 0;         // units of one request
  unsigned same_address = 0;  // atomics: the most lanes of one request at one address
  std::map<unsigned, std::uint64_t> histogram;  // units of a request -> requests
  std::vector<Sample> samples;                  // the first requests of the first warp that came here
  Sample worst_sample;
};

// The basic blocks that begin at a line.
struct Branches {
  Line line;
  std::uint64_t warp_steps = 0;  // how often a warp executed one
  std::uint64_t lane_steps = 0;  // the sum of its active lanes
  std::uint64_t branches = 0;    // those of the steps from which there are several ways on
  std::uint64_t divergent = 0;   // and from which lanes of one warp went different ways
};

// Two accesses to the same bytes, one of them a write, that nothing orders.
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
  // With events: each time, at most kMost, the numbers of both accesses in the order of execution.
  static constexpr std::size_t kMost = 1 << 16;
  std::vector<std::array<std::uint32_t, 2>> executed;
};

const char* name(Race::Kind kind);

// What lanes of a warp did together: an access; that an asynchronous copy was waited for, and has landed; a warp
// collective; that they wait, or have returned. Or that a block barrier let all warps go on. Events stand in the order of the
// replay; each lane's part has its number in the order that the program executed, from 1.
struct WarpEvent {
  enum class Kind : std::uint8_t { access, landing, collective, wait, returned, barrier };
  struct Part {  // of a lane
    std::uint32_t executed = 0;
    std::uint64_t address = 0;  // in shared memory: from its start
    // What was loaded or stored; of an atomic operation of up to 8 bytes first what is there after it, then, from the
    // third word on, what was before. Of a collective: the value that the lane gave, the one that it got, and of a
    // shuffle 1 + the lane whose value it got, and 0 if the values are wider than a word, 1 for integers, 2 for floats.
    std::array<std::uint32_t, 4> words{};
    int pass = -1;  // shared memory: the wavefront that serves the lane
  };
  Kind kind{};
  std::uint64_t block = 0;
  unsigned warp = 0;
  unsigned lanes = 0;     // mask
  const char* what = "";  // of a collective or a wait: the function's name
  Line line;              // 0: none
  Space space{};          // of an access, as are the following
  Op op{};
  unsigned width = 0;
  bool async = false;
  unsigned units = 0, ideal = 0;
  std::size_t array = 0;                 // in shared memory: its place in Launch::shared_arrays
  const void* return_address = nullptr;  // becomes `line` when the launch ends
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
  std::vector<WarpEvent> events;  // if they were asked for
  bool all_events = true;         // false if there were too many: the first ones
  std::vector<SharedArray> shared_arrays;
  std::vector<Allocation> allocations;

  Counts total(Space space, Op op) const;
};

// From now on launches are traced; one OS thread at a time runs. With `events` each event is kept.
void start(bool events = false);
// Ends it and returns what was traced.
std::vector<Launch> stop();

// From now on the last write of a kernel to these bytes is kept, of traced launches and of others.
void watch_last_write(const void* memory, std::size_t size);
// Ends it: "sum.cu:12, thread (3,0,0) of block (0,0,0), in kernel sum"; empty if no kernel wrote there.
std::string last_write();

}  // namespace cuda_emu::trace
