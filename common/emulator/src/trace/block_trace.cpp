#include "block_trace.hpp"

#include <algorithm>
#include <cstdio>

#include "lines.hpp"
#include "scheduler.hpp"

extern "C" {
extern char __start_cuda_emu_constant __attribute__((weak));
extern char __stop_cuda_emu_constant __attribute__((weak));
}

namespace cuda_emu {

using trace::Cost;
using trace::Op;
using trace::Race;
using trace::Recorder;
using trace::Request;
using trace::Sample;
using trace::Shadow;
using trace::Site;
using trace::SiteId;
using trace::Space;
using trace::Stamp;

namespace {

constexpr std::size_t kSamples = 32;
constexpr std::size_t kJoinedLoads = 16;  // at a time
constexpr unsigned kWidest = 16;

template <class Action>
void for_each_lane(unsigned lanes, Action action) {
  for (; lanes != 0; lanes &= lanes - 1) action(static_cast<unsigned>(__builtin_ctz(lanes)));
}

unsigned lane_bit(unsigned thread) { return 1u << thread % 32; }

unsigned first_lane(unsigned lanes) { return static_cast<unsigned>(__builtin_ctz(lanes)); }

Recorder& recorder() {
  static Recorder& instance = Recorder::get();
  return instance;
}

trace::Counts counts_of(const Request& request, Cost cost, unsigned bytes_of_unit) {
  const std::uint64_t lanes = request.lane_count();
  return {1, lanes, cost.units, cost.ideal, lanes * request.width, std::uint64_t{cost.units} * bytes_of_unit};
}

// Merges `b` into `a`, an access of twice the width, if they are adjacent and aligned for every lane.
bool join(Request& a, const Request& b) {
  if (a.lanes != b.lanes || a.width != b.width || a.width < 4 || a.width >= kWidest) return false;
  const unsigned first = first_lane(a.lanes);
  const bool upwards = b.address[first] == a.address[first] + a.width;
  const Request& low = upwards ? a : b;
  const Request& high = upwards ? b : a;
  bool fits = true;
  for_each_lane(a.lanes, [&](unsigned lane) {
    fits &= high.address[lane] == low.address[lane] + a.width && low.address[lane] % (2 * a.width) == 0;
  });
  if (!fits) return false;
  if (!upwards) a.address = b.address;
  a.width *= 2;
  return true;
}

}  // namespace

// ---- Blocks and threads ----

void BlockTrace::begin_run() {
  on_ = recorder().on;
  if (!on_) return;
  recorder().baton.take();
  active = this;
}

void BlockTrace::end_run(bool failed) {
  if (!on_) return;
  active = nullptr;
  if (failed) {
    if (recorder().executed.on) keep_failed_launch();
    for (auto& events : events_) events.clear();
  }
  recorder().launch.shared_bytes = std::max(
      recorder().launch.shared_bytes, current_worker->shared.static_size() + current_worker->shared.dynamic_size());
  recorder().baton.give();
  on_ = false;
}

void BlockTrace::begin_block(std::uint64_t block, unsigned threads, const SharedMemory& shared) {
  if (!on_) return;
  block_ = block;
  threads_ = threads;
  grid_barriers_ = 0;
  last_atomic_ = 0;
  std::fill_n(atomic_of_.begin(), threads_, 0u);
  epoch_ = recorder().new_epoch(block_, grid_barriers_);
  memory_ = &shared;
  shared_begin_ = reinterpret_cast<std::uintptr_t>(shared.begin());
  if (shared_ == nullptr) shared_ = std::make_unique<Shadow>(shared_begin_, shared.capacity(), -1);
  for (unsigned warp = 0; warp * 32 < threads_; ++warp) {
    running_[warp] = threads_ - warp * 32 >= 32 ? ~0u : (1u << (threads_ - warp * 32)) - 1;
  }
  std::fill_n(depth_.begin(), threads_, std::uint8_t{0});
  std::fill_n(recorded_block_.begin(), threads_, Blocks{});
  std::fill_n(replayed_block_.begin(), threads_, Blocks{});
  std::fill_n(stopped_.begin(), threads_, 0u);
  stores_.clear();
  copies_.clear();
}

void BlockTrace::stop(unsigned thread) {
  if (!on_) return;
  if (recorder().executed.on) note_stop(thread);
  unsigned& running = running_[thread / 32];
  running &= ~lane_bit(thread);
  if (running == 0) replay(thread / 32);
}

void BlockTrace::go_on(unsigned warp, unsigned lanes) {
  if (on_) running_[warp] |= lanes;
}

void BlockTrace::meet(unsigned warp, unsigned lanes, bool orders) {
  if (!on_) return;
  std::array<std::uint32_t, 32> executed{};
  const SiteId meeting = recorder().executed.on ? note_meeting(warp, lanes, executed) : 0;
  for_each_lane(lanes, [&](unsigned lane) { stopped_[warp * 32 + lane] = 0; });
  // If no lane of the warp is running, its events have been replayed already.
  if (running_[warp] != 0) {
    for_each_lane(lanes, [&](unsigned lane) {
      events_[warp * 32 + lane].push_back({lanes, meeting, What::meeting, 0, executed[lane]});
    });
  } else {
    keep_meeting(warp, lanes, meeting, executed);
  }
  std::uint32_t latest = 0;
  for_each_lane(lanes, [&](unsigned lane) { latest = std::max(latest, atomic_of_[warp * 32 + lane]); });
  for_each_lane(lanes, [&](unsigned lane) { atomic_of_[warp * 32 + lane] = latest; });
  if (!orders) return;
  const std::uint32_t now = recorder().tick();
  auto& known = known_[warp];
  std::array<std::uint32_t, 32> together{};
  for_each_lane(lanes, [&](unsigned lane) {
    for (unsigned other = 0; other < 32; ++other) together[other] = std::max(together[other], known[lane][other]);
  });
  for_each_lane(lanes, [&](unsigned lane) { together[lane] = now; });
  for_each_lane(lanes, [&](unsigned lane) { known[lane] = together; });
}

void BlockTrace::block_barrier() {
  if (!on_) return;
  epoch_ = recorder().new_epoch(block_, grid_barriers_);
  if (const std::uint32_t number = recorder().executed.next(); number != 0) {
    recorder().launch.events.push_back(new_event(trace::WarpEvent::Kind::barrier, 0, 0));
    recorder().launch.events.back().parts = {{number}};
  }
  for (unsigned thread = 0; thread < threads_; ++thread) {
    if (current_worker->thread(thread).state != ThreadState::returned) go_on(thread / 32, lane_bit(thread));
  }
}

void BlockTrace::grid_barrier() {
  ++grid_barriers_;
  block_barrier();
}

void BlockTrace::pass_on() {
  if (!on_) return;
  settle();
  if (recorder().executed.on) forget_poll();
  recorder().baton.pass_on();
}

void BlockTrace::before_grid_wait() {
  if (on_) recorder().baton.give();
}

void BlockTrace::after_grid_wait() {
  if (on_) recorder().baton.take();
}

// ---- What the kernel does ----

void BlockTrace::enter_function() {
  const unsigned depth = ++depth_[current_];
  if (depth < kDepths) recorded_block_[current_][depth] = 0;
}

void BlockTrace::basic_block(const void* return_address) {
  const SiteId site = recorder().block_site(return_address);
  const std::uint8_t depth = depth_[current_];
  events_[current_].push_back({0, site, What::basic_block, depth, 0});
  if (depth >= kDepths) return;
  SiteId& last = recorded_block_[current_][depth];
  if (last != 0) recorder().note_way(last, site);
  last = site;
}

void BlockTrace::access(const void* memory, std::size_t size, Op op, const void* return_address, bool async) {
  auto address = reinterpret_cast<std::uintptr_t>(memory);
  // An atomic operation uses variables of its thread before it stores.
  if (!stores_.empty() && (shared_->contains(address, 1) || recorder().find_global(address) != nullptr)) settle();
  // A structure is copied in pieces.
  while (size > 0) {
    unsigned width = kWidest;
    while (width > size || address % width != 0) width /= 2;
    single_access(address, width, op, return_address, async);
    address += width;
    size -= width;
  }
}

void BlockTrace::aligned_access(const void* memory, std::size_t size, Op op, const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t alignment = std::min<std::size_t>(size, 8);  // no more: 16 bytes may be a struct of two pointers
  if (address % alignment != 0) {
    char what[64], why[64];
    snprintf(what, sizeof what, "misaligned address 0x%llx", static_cast<unsigned long long>(address));
    snprintf(why, sizeof why, "needs a multiple of %zu bytes", alignment);
    fail("misaligned", what, why, op, return_address, address, cudaErrorMisalignedAddress);
  }
  access(memory, size, op, return_address);
}

void BlockTrace::single_access(std::uintptr_t address, unsigned width, Op op, const void* return_address, bool async) {
  Space space = Space::global;
  Shadow* shadow = nullptr;
  std::uint64_t place = address;
  if (shared_->contains(address, width)) {
    space = Space::shared;
    shadow = shared_.get();
    place = address - shared_begin_;
    if (memory_->behind_variable(reinterpret_cast<const void*>(address), width)) {
      fail("shared array", "invalid address", "is behind the shared variable", op, return_address, address);
    }
  } else if (address >= reinterpret_cast<std::uintptr_t>(&__start_cuda_emu_constant) &&
             address < reinterpret_cast<std::uintptr_t>(&__stop_cuda_emu_constant)) {
    space = Space::constant;
    place = address - reinterpret_cast<std::uintptr_t>(&__start_cuda_emu_constant);
  } else {
    shadow = recorder().find_global(address);
    if (shadow != nullptr && !shadow->contains(address, width)) {
      const std::uintptr_t outside = shadow->contains(address, 1) ? shadow->begin() + shadow->size() : address;
      fail("address", "invalid address", "reaches outside the allocation", op, return_address, outside);
    }
    if (shadow == nullptr) {  // the thread's own variables or the launch's arguments
      if (recorder().is_on_host_stack(address)) {
        fail("host memory", "host memory", "is of a variable of the host", op, return_address, address);
      }
      const auto* place = reinterpret_cast<const void*>(address);
      if (!recorder().is_mapped(address) && !Fiber::current->is_overflow(place, __builtin_frame_address(0))) {
        fail("address", "invalid address", "is in no allocation", op, return_address, address);
      }
      return;
    }
  }
  const SiteId site = recorder().access_site(return_address, space, op, width, async);
  const std::uint32_t executed = note_access(reinterpret_cast<const void*>(address), width, site);
  events_[current_].push_back({place, site, What::access, depth_[current_], executed});
  if (shadow == nullptr) return;
  const bool atomic = op == Op::atomic;
  const Stamp stamp{epoch_, recorder().now(),         site,    static_cast<std::uint16_t>(current_),
                    atomic, async && op == Op::store, executed};
  check_races(*shadow, address, width, space, stamp);
  if (!atomic) return;
  last_atomic_ = atomic_of_[current_] = recorder().tick();
  const auto fences = recorder().fences.find(block_);
  if (fences != recorder().fences.end()) fences->second.add_atomic(last_atomic_);
}

void BlockTrace::fail(const char* cause, const char* what, const char* why, Op op, const void* return_address,
                      std::uintptr_t address, cudaError_t error) const {
  const trace::Line line = trace::find_lines({return_address}).front();
  char problem[4096];
  snprintf(problem, sizeof problem, "%s: %s at %s:%d %s, in thread (%u,%u,%u)", what,
           op == Op::load ? "the load" : "the store", line.file.c_str(), line.number, why, threadIdx.x, threadIdx.y,
           threadIdx.z);
  current_worker->fail(
      {cause, problem, line.file + ":" + std::to_string(line.number), reinterpret_cast<const void*>(address)}, error);
}

void BlockTrace::copied(const void* memory, std::size_t size) {
  if (!on_) return;
  if (recorder().executed.on) note_landing(memory);
  shared_->for_each_cell(reinterpret_cast<std::uintptr_t>(memory), size, [&](trace::Cell& cell) {
    if (!cell.writer.under_way || cell.writer.thread != current_) return;
    cell.writer.under_way = false;
    cell.writer.epoch = epoch_;
    cell.writer.time = recorder().now();
  });
}

void BlockTrace::fence() {
  recorder().fences[block_].add(static_cast<std::uint16_t>(current_), epoch_, recorder().tick());
}

// ---- Races ----

void BlockTrace::check_races(Shadow& shadow, std::uintptr_t address, unsigned width, Space space, const Stamp& stamp) {
  const bool writes = recorder().site(stamp.site).op != Op::load;
  const auto compare = [&](const Stamp& before, Race::Kind kind) {
    if (!recorder().is_of_this_launch(before.epoch) || ordered(before, stamp, space)) return;
    const bool between_blocks = recorder().epoch(before.epoch).block != block_;
    recorder().report_race(before, stamp, kind, space, between_blocks);
  };
  shadow.for_each_cell(address, width, [&](trace::Cell& cell) {
    compare(cell.writer, writes ? Race::Kind::write_after_write : Race::Kind::read_after_write);
    if (writes) {
      compare(cell.reader, Race::Kind::write_after_read);
      compare(cell.other_reader, Race::Kind::write_after_read);
      // An atomic operation does not hide an earlier plain write of the same thread: others may still race with that.
      const bool hides =
          stamp.atomic && !cell.writer.atomic && cell.writer.epoch == stamp.epoch && cell.writer.thread == stamp.thread;
      cell = {hides ? cell.writer : stamp, {}, {}};
      return;
    }
    const bool same_reader = cell.reader.epoch == stamp.epoch && cell.reader.thread == stamp.thread;
    if (!same_reader) cell.other_reader = cell.reader;
    cell.reader = stamp;
  });
}

bool BlockTrace::ordered(const Stamp& before, const Stamp& now, Space space) const {
  if (before.atomic && now.atomic) return true;
  // CUDA's own example of atomicCAS() begins with a plain load.
  const bool one_loads = recorder().site(before.site).op == Op::load || recorder().site(now.site).op == Op::load;
  if (one_loads && (before.atomic || now.atomic)) return true;
  const trace::Epoch& then = recorder().epoch(before.epoch);
  if (then.block != block_) {
    if (space == Space::shared) return true;  // another block's shared memory
    return then.grid_barriers != grid_barriers_ || fenced(before, then.block);
  }
  if (before.under_way) return false;
  if (before.epoch != now.epoch || before.thread == now.thread) return true;
  const bool same_warp = before.thread / 32 == now.thread / 32;
  if (same_warp && known_[now.thread / 32][now.thread % 32][before.thread % 32] > before.time) return true;
  return fenced(before, block_);
}

// Returns true if these followed `before`, in this order: a fence of its thread, or of any thread behind a barrier; an
// atomic operation of its block; and one of this block (within one block: of this thread). If `before` is itself an
// atomic operation, only the last is needed.
bool BlockTrace::fenced(const Stamp& before, std::uint64_t block) const {
  const std::uint32_t last_atomic = block == block_ ? atomic_of_[current_] : last_atomic_;
  if (before.atomic) return last_atomic > before.time;
  const auto fences = recorder().fences.find(block);
  if (fences == recorder().fences.end()) return false;
  const std::uint32_t published = fences->second.published(before);
  return published != 0 && last_atomic > published;
}

// ---- Replay ----

// Replays the lanes with the deepest function call first, and of these the ones at the earliest place in the program,
// together. So lanes wait for each other where their paths reconverge.
void BlockTrace::replay(unsigned warp) {
  Replay state;
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < threads_; ++lane) {
    const std::vector<Event>& events = events_[warp * 32 + lane];
    state.next[lane] = events.data();
    state.end[lane] = events.data() + events.size();
    if (!events.empty()) state.left |= 1u << lane;
  }
  recorder().order_blocks();
  while (state.left != 0) {
    unsigned lanes = next_group(state, warp);
    if (lanes == 0) {
      lanes = lanes_that_met(state);
      end_joining();
      std::array<std::uint32_t, 32> executed{};
      for_each_lane(lanes, [&](unsigned lane) { executed[lane] = state.next[lane]->executed; });
      keep_meeting(warp, lanes, state.next[first_lane(lanes)]->site, executed);
    } else if (state.next[first_lane(lanes)]->what == What::basic_block) {
      replay_basic_block(state, lanes, warp);
    } else if (state.next[first_lane(lanes)]->what == What::landing) {
      replay_landing(state, lanes, warp);
    } else {
      replay_access(state, lanes, warp);
    }
    for_each_lane(lanes, [&](unsigned lane) {
      if (++state.next[lane] == state.end[lane]) state.left &= ~(1u << lane);
    });
  }
  end_joining();
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < threads_; ++lane) events_[warp * 32 + lane].clear();
  keep_stops(warp);
}

// Returns the lanes to replay next; 0 if all wait for a meeting.
unsigned BlockTrace::next_group(const Replay& state, unsigned warp) const {
  unsigned group = 0;
  const Event* best = nullptr;
  unsigned best_order = 0;
  const void* best_address = nullptr;
  for_each_lane(state.left, [&](unsigned lane) {
    const Event* event = state.next[lane];
    if (event->what == What::meeting) return;
    if (best != nullptr && event->site == best->site && event->what == best->what && event->depth == best->depth) {
      group |= 1u << lane;
      return;
    }
    const SiteId block = event->what == What::basic_block
                             ? event->site
                             : replayed_block_[warp * 32 + lane][std::min<unsigned>(event->depth, kDepths - 1)];
    const unsigned order = recorder().site(block).order;
    const void* address = recorder().site(event->site).return_address;
    const bool as_deep = best != nullptr && event->depth == best->depth;
    const bool deeper = best == nullptr || event->depth > best->depth;
    const bool before = as_deep && (order < best_order || (order == best_order && address < best_address));
    if (!deeper && !before) return;
    best = event;
    best_order = order;
    best_address = address;
    group = 1u << lane;
  });
  return group;
}

// Called when all lanes that are left wait for meetings. Returns those of complete meetings.
unsigned BlockTrace::lanes_that_met(const Replay& state) {
  unsigned complete = 0;
  for_each_lane(state.left, [&](unsigned lane) {
    const auto met = static_cast<unsigned>(state.next[lane]->address);
    bool all = (met & ~state.left) == 0;
    for_each_lane(met & state.left, [&](unsigned other) { all &= state.next[other]->address == met; });
    if (all) complete |= met;
  });
  return complete != 0 ? complete : state.left;
}

void BlockTrace::replay_basic_block(const Replay& state, unsigned lanes, unsigned warp) {
  const SiteId id = state.next[first_lane(lanes)]->site;
  const unsigned depth = state.next[first_lane(lanes)]->depth;
  for_each_lane(lanes, [&](unsigned lane) { replayed_block_[warp * 32 + lane][std::min(depth, kDepths - 1)] = id; });
  Site& site = recorder().site(id);
  site.used = true;
  ++site.warp_steps;
  site.lane_steps += static_cast<unsigned>(__builtin_popcount(lanes));
  // where each lane goes from here
  SiteId way_on = 0;
  bool divergent = false;
  for_each_lane(lanes, [&](unsigned lane) {
    const Event* event = state.next[lane] + 1;
    const auto is_between = [&] { return event->what == What::access || event->what == What::landing; };
    while (event != state.end[lane] && (is_between() || event->depth > depth)) {
      if (event->depth == depth) site.last_access = event->site;
      ++event;
    }
    if (event == state.end[lane] || event->what == What::meeting || event->depth < depth) return;
    if (way_on == 0) way_on = event->site;
    divergent |= event->site != way_on;
  });
  site.divergent += divergent;
}

void BlockTrace::replay_access(const Replay& state, unsigned lanes, unsigned warp) {
  const SiteId id = state.next[first_lane(lanes)]->site;
  Site& site = recorder().site(id);
  Request request;
  request.lanes = lanes;
  request.width = site.width;
  for_each_lane(lanes, [&](unsigned lane) { request.address[lane] = state.next[lane]->address; });

  Cost cost;
  unsigned bytes_of_unit = 0;
  switch (site.space) {
    case Space::global:
      cost = trace::sectors(request);
      bytes_of_unit = trace::kSectorBytes;
      break;
    case Space::shared:
      cost = trace::wavefronts(request, site.op == Op::atomic);
      bytes_of_unit = trace::kBanks * trace::kBankBytes;
      break;
    case Space::constant:
      cost = trace::words(request);
      bytes_of_unit = trace::kBankBytes;
      break;
  }
  site.used = true;
  site.counts += counts_of(request, cost, bytes_of_unit);
  ++site.histogram[std::min<std::size_t>(cost.units, site.histogram.size() - 1)];
  if (site.op == Op::atomic) site.same_address = std::max(site.same_address, trace::same_address(request));
  sample(site, request, cost, warp);
  keep_request(trace::WarpEvent::Kind::access, warp, state, site, request, cost);

  if (site.space != Space::shared) return;
  if (site.op == Op::load && !site.async) {
    join_shared_load(request, id);
  } else {
    end_joining();
  }
}

void BlockTrace::sample(Site& site, const Request& request, Cost cost, unsigned warp) {
  const bool worst = cost.units > site.worst;
  bool first = site.samples.empty();
  if (!first && site.samples.size() < kSamples) {
    const Sample& before = site.samples.front();
    first = before.warp == warp && before.block.x == blockIdx.x && before.block.y == blockIdx.y &&
            before.block.z == blockIdx.z;
  }
  if (!worst && !first) return;
  Sample sample;
  sample.block = blockIdx;
  sample.warp = warp;
  sample.units = cost.units;
  sample.ideal = cost.ideal;
  sample.offsets.fill(Sample::kInactive);
  sample.passes.fill(-1);
  std::uint64_t begin = 0;
  if (site.space == Space::global) {
    const Shadow* memory = recorder().find_global(request.address[first_lane(request.lanes)]);
    begin = memory->begin();
    sample.allocation = memory->number();
  } else if (site.space == Space::shared) {
    trace::wavefronts(request, site.op == Op::atomic, &sample.passes);
  }
  for_each_lane(request.lanes, [&](unsigned lane) {
    sample.offsets[lane] = static_cast<std::int64_t>(request.address[lane] - begin);
  });
  if (first) site.samples.push_back(sample);
  if (worst) {
    site.worst = cost.units;
    site.worst_sample = sample;
  }
}

// Merges adjacent loads from shared memory, as nvcc does where it can.
void BlockTrace::join_shared_load(Request request, SiteId site) {
  for (std::size_t i = 0; i < joining_.size();) {
    const unsigned lane = first_lane(request.lanes);
    const std::uint64_t before = request.address[lane];
    if (!join(request, joining_[i].request)) {
      ++i;
      continue;
    }
    if (request.address[lane] != before) site = joining_[i].site;
    joining_.erase(joining_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  joining_.push_back({request, site});
  if (joining_.size() > kJoinedLoads) end_joining();
}

void BlockTrace::end_joining() {
  for (const auto& [request, site] : joining_) {
    const Cost cost = trace::wavefronts(request, false);
    recorder().site(site).merged += counts_of(request, cost, trace::kBanks * trace::kBankBytes);
  }
  joining_.clear();
}

}  // namespace cuda_emu
