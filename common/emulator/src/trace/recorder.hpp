// The data shared by all blocks of a traced launch: the counters of each place in the program, and the threads that
// accessed each piece of memory last.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuda_emu/launch.hpp"
#include "cuda_emu/trace.hpp"
#include "request.hpp"

namespace cuda_emu::trace {

// Lets one OS thread run at a time, in the order in which they ask.
class Baton {
 public:
  void take();
  void give();
  void pass_on();  // lets the threads that wait in take() run first; returns with the baton

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

constexpr std::uintptr_t kPageBytes = 4096;

using SiteId = std::uint32_t;

// A place in the program where a basic block begins or an access is made, with its counters for this launch.
struct Site {
  const void* return_address = nullptr;
  Space space{};
  Op op{};
  unsigned width = 0;  // 0: a basic block
  bool async = false;

  bool used = false;
  Counts counts;
  Counts merged;  // shared loads: see Access
  unsigned worst = 0;
  unsigned same_address = 0;
  std::array<std::uint64_t, 33> histogram{};
  std::vector<Sample> samples;
  Sample worst_sample;

  // Basic blocks only:
  std::vector<SiteId> ways_on;  // the blocks that have followed
  unsigned order = 0;           // see Recorder::order_blocks
  SiteId last_access = 0;
  std::uint64_t warp_steps = 0, lane_steps = 0, divergent = 0;
};

// The thread that accessed a piece of memory, and the time.
struct Stamp {
  std::uint32_t epoch = 0;  // 0: not accessed
  std::uint32_t time = 0;   // of the last synchronisation before the access
  SiteId site = 0;
  std::uint16_t thread = 0;
  bool atomic = false;
  bool under_way = false;      // an asynchronous copy that its thread has not waited for
  std::uint32_t executed = 0;  // see WarpEvent; 0: not kept
};

struct Cell {
  Stamp writer;
  Stamp reader;
  Stamp other_reader;  // another thread than `reader`
};

// The cells of a part of memory: one per 4 bytes, or one per byte if smaller accesses were made.
class Shadow {
 public:
  Shadow(std::uintptr_t begin, std::size_t size, int number);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  bool contains(std::uintptr_t address, std::size_t size) const {
    return size <= size_ && address - begin_ <= size_ - size;
  }
  std::uintptr_t begin() const { return begin_; }
  std::size_t size() const { return size_; }
  int number() const { return number_; }

  // Calls action(cell) for each cell of the `size` bytes at `address`.
  template <class Action>
  void for_each_cell(std::uintptr_t address, std::size_t size, Action action) {
    if (size < 4 && bytes_per_cell_ == 4) use_a_cell_for_each_byte();
    const std::size_t first = (address - begin_) / bytes_per_cell_;
    const std::size_t last = (address - begin_ + size - 1) / bytes_per_cell_;
    for (std::size_t cell = first; cell <= last; ++cell) action(cells_[cell]);
  }

 private:
  void use_a_cell_for_each_byte();

  std::uintptr_t begin_;
  std::size_t size_;
  int number_;
  std::size_t bytes_per_cell_ = 4;
  Cell* cells_;  // from calloc: pages are allocated only when written
};

// A part of a block's time, from one barrier to the next.
struct Epoch {
  std::uint64_t block = 0;
  unsigned grid_barriers = 0;  // passed by the block
};

// The times of a block's fences, and of the atomic operations after them. All lists are in ascending order.
struct Fences {
  std::unordered_map<std::uint16_t, std::vector<std::uint32_t>> of_thread;
  struct First {
    std::uint32_t epoch, time;
  };
  std::vector<First> first_in_epoch;
  // The block's first atomic operation after each fence. It publishes the writes before the fence.
  std::vector<std::uint32_t> publications;
  std::uint32_t last = 0;

  void add(std::uint16_t thread, std::uint32_t epoch, std::uint32_t time);
  void add_atomic(std::uint32_t time) {
    if (publications.empty() || publications.back() < last) publications.push_back(time);
  }
  // Returns the time at which the access `before` was published: that of the first publication after the first fence of
  // its own thread, or of any thread in a later epoch, whichever fence was earlier. 0: not published yet.
  std::uint32_t published(const Stamp& before) const;
};

// The actions of lanes, in the order of execution, while events are kept: values loaded, stored and exchanged.
struct Executed {
  static constexpr std::size_t kMost = 1 << 20;
  bool on = false;
  std::vector<std::array<std::uint32_t, 4>> words;  // by number; 0 is none
  std::vector<Where> meetings;

  // Returns the number of the next action; 0 if there are too many, or events are not kept.
  std::uint32_t next() {
    if (!on || words.size() >= kMost) return 0;
    words.emplace_back();
    return static_cast<std::uint32_t>(words.size() - 1);
  }
  // Copies the value at `address` into the words of action `number`, from word `first` on.
  void read(std::uint32_t number, const void* address, std::size_t bytes, std::size_t first = 0) {
    std::memcpy(words[number].data() + first, address, bytes);
  }
};

// Identifies a race: the sites of both accesses, the kind, and whether it is between blocks.
using RaceKey = std::tuple<SiteId, SiteId, Race::Kind, bool>;

class Recorder {
 public:
  static Recorder& get();

  bool on = false;
  Baton baton;
  Executed executed;
  std::vector<Launch> launches;

  // `arguments` are on the host's stack, but kernels may read them.
  void begin_launch(const Config& config, const void* arguments, std::size_t size);
  void end_launch();

  SiteId access_site(const void* return_address, Space space, Op op, unsigned width, bool async);
  SiteId block_site(const void* return_address);
  Site& site(SiteId id) { return sites_[id]; }

  // Records that basic block `to` followed `from`.
  void note_way(SiteId from, SiteId to);
  // Numbers the basic blocks so that a block comes before its successors, and all blocks of a loop before those behind
  // the loop. Lanes replayed in this order wait for each other where their paths reconverge.
  void order_blocks();

  // Returns the allocation of device memory that has the address in its data or a guard, or the program's static data,
  // where __device__ variables are; else null.
  Shadow* find_global(std::uintptr_t address);
  // Returns true if the process can read the address. To be called right after find_global() returned null for it.
  bool is_mapped(std::uintptr_t address) const { return pages_[address / kPageBytes % pages_.size()].can_be_read; }

  // Returns true if the address is in a local variable of host code.
  bool is_on_host_stack(std::uintptr_t address) const {
    return host_stack_.contains(address) && !arguments_.contains(address);
  }

  // Numbers of epochs continue from launch to launch.
  std::uint32_t new_epoch(std::uint64_t block, unsigned grid_barriers);
  bool is_of_this_launch(std::uint32_t epoch) const { return epoch >= first_epoch_; }
  const Epoch& epoch(std::uint32_t number) const { return epochs_[number - first_epoch_]; }

  // The time increases with each synchronisation of any thread.
  std::uint32_t now() const { return now_; }
  std::uint32_t tick() { return ++now_; }

  std::unordered_map<std::uint64_t, Fences> fences;  // by block

  void report_race(const Stamp& first, const Stamp& second, Race::Kind kind, Space space, bool between_blocks);

  Launch launch;  // the running one

 private:
  SiteId find_site(const void* return_address, unsigned variant);
  Race::Side side(const Stamp& stamp) const;
  void collect();

  bool blocks_are_ordered_ = true;
  std::vector<Site> sites_{1};  // number 0: no site
  std::unordered_map<std::uint64_t, SiteId> site_numbers_;
  struct Known {
    std::uint64_t key = 0;
    SiteId site = 0;
  };
  std::array<Known, 4096> known_sites_{};
  std::unordered_map<const void*, Line> lines_;

  std::map<std::uintptr_t, Shadow> allocations_;
  struct Page {
    std::uintptr_t number = 0;
    Shadow* shadow = nullptr;
    bool own = false;  // the whole page belongs to an allocation
    std::uint64_t launch = 0;
    bool can_be_read = true;
  };
  std::array<Page, 1024> pages_{};
  std::uint64_t launch_number_ = 0;

  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool contains(std::uintptr_t address) const { return address >= begin && address < end; }
  };
  static std::uintptr_t end_of_stack();
  Range host_stack_;  // frames of the launching functions
  Range arguments_;

  std::vector<Epoch> epochs_;
  std::uint32_t first_epoch_ = 1;
  std::uint32_t now_ = 1;
  std::map<RaceKey, Race> races_;
};

}  // namespace cuda_emu::trace
