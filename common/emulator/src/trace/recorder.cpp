#include "recorder.hpp"

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "lines.hpp"
#include "runtime.hpp"

// The ends of the program's writable data, and of its __constant__ variables (include/cuda_emu/device.hpp).
extern "C" {
extern char __data_start __attribute__((weak));
extern char _end __attribute__((weak));
extern char __start_cuda_emu_constant __attribute__((weak));
extern char __stop_cuda_emu_constant __attribute__((weak));
}

namespace cuda_emu::trace {
namespace {

uint3 index_in(std::uint64_t number, const dim3& extent) {
  return {static_cast<unsigned>(number % extent.x), static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

std::uintptr_t value_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Returns true if the process can load from the address.
bool can_be_read(std::uintptr_t address) {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

unsigned log2_of(unsigned width) { return static_cast<unsigned>(__builtin_ctz(width)); }

}  // namespace

// ---- The baton ----

void Baton::take() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t ticket = next_++;
  changed_.wait(lock, [&] { return serving_ == ticket; });
}

void Baton::give() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++serving_;
  changed_.notify_all();
}

void Baton::pass_on() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == serving_ + 1) return;
  }
  give();
  take();
}

// ---- Shadow memory ----

Shadow::Shadow(std::uintptr_t begin, std::size_t size, int number) : begin_(begin), size_(size), number_(number) {
  cells_ = static_cast<Cell*>(calloc(size / bytes_per_cell_ + 1, sizeof(Cell)));
  if (cells_ == nullptr) throw std::bad_alloc();
}

Shadow::~Shadow() { free(cells_); }

void Shadow::use_a_cell_for_each_byte() {
  auto* finer = static_cast<Cell*>(calloc(size_ + 4, sizeof(Cell)));
  if (finer == nullptr) throw std::bad_alloc();
  for (std::size_t cell = 0; cell <= size_ / 4; ++cell) {
    const bool touched = cells_[cell].writer.epoch != 0 || cells_[cell].reader.epoch != 0;
    if (touched) std::fill_n(finer + 4 * cell, 4, cells_[cell]);
  }
  free(cells_);
  cells_ = finer;
  bytes_per_cell_ = 1;
}

// ---- Launches ----

Recorder& Recorder::get() {
  static Recorder& instance = *new Recorder;
  return instance;
}

// Returns the upper end of this OS thread's stack.
std::uintptr_t Recorder::end_of_stack() {
  void* begin = nullptr;
  std::size_t size = 0;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  return value_of(begin) + size;
}

void Recorder::begin_launch(const Config& config, const void* arguments, std::size_t size) {
  if (!on) return;
  static thread_local const std::uintptr_t stack_end = end_of_stack();
  host_stack_ = {value_of(__builtin_frame_address(0)), stack_end};
  arguments_ = {value_of(arguments), value_of(arguments) + size};
  launch = {};
  launch.kernel = config.kernel;
  launch.line = {config.where.file, config.where.line};
  launch.grid = config.grid;
  launch.block = config.block;
  launch.cooperative = config.cooperative;
  ++launch_number_;
  allocations_.clear();
  races_.clear();
  fences.clear();
  first_epoch_ += static_cast<std::uint32_t>(epochs_.size());
  epochs_.clear();
  for (Site& site : sites_) {
    if (!site.used) continue;
    Site fresh;
    fresh.return_address = site.return_address;
    fresh.space = site.space;
    fresh.op = site.op;
    fresh.width = site.width;
    fresh.async = site.async;
    fresh.ways_on = std::move(site.ways_on);
    fresh.order = site.order;
    site = std::move(fresh);
  }
}

void Recorder::end_launch() {
  if (!on) return;
  collect();
  launches.push_back(std::move(launch));
  allocations_.clear();
}

void Recorder::collect() {
  std::vector<const void*> unknown;
  for (const Site& site : sites_) {
    if (site.return_address != nullptr && lines_.count(site.return_address) == 0)
      unknown.push_back(site.return_address);
  }
  const std::vector<Line> found = find_lines(unknown);
  for (std::size_t i = 0; i < unknown.size(); ++i) lines_[unknown[i]] = found[i];
  const auto line_of = [&](const Site& site) { return lines_[site.return_address]; };

  std::vector<const Site*> used;
  for (const Site& site : sites_) {
    if (site.used && line_of(site).number > 0) used.push_back(&site);
  }
  std::stable_sort(used.begin(), used.end(), [&](const Site* a, const Site* b) {
    const Line &left = lines_[a->return_address], &right = lines_[b->return_address];
    return left == right ? a->return_address < b->return_address : left < right;
  });

  for (const Site* site : used) {
    const Line line = line_of(*site);
    if (site->width == 0) {
      launch.warp_steps += site->warp_steps;
      launch.lane_steps += site->lane_steps;
      const Line at = site->last_access != 0 ? lines_[sites_[site->last_access].return_address] : line;
      const std::uint64_t branches = site->ways_on.size() > 1 ? site->warp_steps : 0;
      launch.branches += branches;
      launch.divergent_branches += site->divergent;
      auto same = std::find_if(launch.branches_at.begin(), launch.branches_at.end(),
                               [&](const Branches& b) { return b.line == at; });
      if (same == launch.branches_at.end()) {
        launch.branches_at.push_back({at, 0, 0, 0, 0});
        same = launch.branches_at.end() - 1;
      }
      same->warp_steps += site->warp_steps;
      same->lane_steps += site->lane_steps;
      same->branches += branches;
      same->divergent += site->divergent;
      continue;
    }
    Access access;
    static_cast<Counts&>(access) = site->counts;
    access.merged = site->merged;
    launch.merged_shared_loads += site->merged;
    access.line = line;
    access.space = site->space;
    access.op = site->op;
    access.width = site->width;
    access.async = site->async;
    access.worst = site->worst;
    access.same_address = site->same_address;
    for (unsigned units = 0; units < site->histogram.size(); ++units) {
      if (site->histogram[units] > 0) access.histogram[units] = site->histogram[units];
    }
    access.samples = site->samples;
    access.worst_sample = site->worst_sample;
    launch.accesses.push_back(std::move(access));
  }
  for (WarpEvent& event : launch.events) {
    if (event.return_address != nullptr) event.line = lines_[event.return_address];
  }
  for (const auto& [begin, shadow] : allocations_) launch.allocations.push_back({begin, shadow.size()});
  for (auto& [key, race] : races_) {
    race.first.line = lines_[sites_[std::get<0>(key)].return_address];
    race.second.line = lines_[sites_[std::get<1>(key)].return_address];
    const auto same = std::find_if(launch.races.begin(), launch.races.end(), [&race = race](const Race& other) {
      return other.first.line == race.first.line && other.second.line == race.second.line && other.kind == race.kind &&
             other.between_blocks == race.between_blocks;
    });
    if (same == launch.races.end()) {
      launch.races.push_back(race);
    } else {
      same->count += race.count;
      same->executed.insert(same->executed.end(), race.executed.begin(), race.executed.end());
    }
  }
}

// ---- Places in the program ----

SiteId Recorder::find_site(const void* return_address, unsigned variant) {
  const std::uint64_t key = value_of(return_address) << 6 | variant;
  Known& known = known_sites_[(key ^ key >> 12) % known_sites_.size()];
  if (known.key == key) return known.site;
  const auto [place, is_new] = site_numbers_.try_emplace(key, static_cast<SiteId>(sites_.size()));
  if (is_new) {
    sites_.emplace_back();
    sites_.back().return_address = return_address;
  }
  known = {key, place->second};
  return place->second;
}

SiteId Recorder::access_site(const void* return_address, Space space, Op op, unsigned width, bool async) {
  const SiteId id = find_site(return_address,
                              1 + (log2_of(width) * 3 + static_cast<unsigned>(space)) * 3 + static_cast<unsigned>(op));
  Site& site = sites_[id];
  if (site.width == 0) {
    site.space = space;
    site.op = op;
    site.width = width;
    site.async = async;
  }
  return id;
}

SiteId Recorder::block_site(const void* return_address) { return find_site(return_address, 0); }

// ---- The order of basic blocks ----

void Recorder::note_way(SiteId from, SiteId to) {
  std::vector<SiteId>& ways = sites_[from].ways_on;
  if (std::find(ways.begin(), ways.end(), to) != ways.end()) return;
  ways.push_back(to);
  blocks_are_ordered_ = false;
}

namespace {

// Bourdoncle's weak topological order. The strongly connected components, by Tarjan's algorithm, follow one another.
// Within a component the entry block comes first; the others are ordered in the same way, without that block.
class WeakTopologicalOrder {
 public:
  explicit WeakTopologicalOrder(const std::vector<std::vector<SiteId>>& ways) : ways_(ways), number_(ways.size(), 0) {}

  // Returns the order in reverse.
  std::vector<SiteId> of_all(const std::vector<SiteId>& entries) {
    std::vector<SiteId> reversed;
    for (const SiteId entry : entries) {
      if (number_[entry] == 0) visit(entry, reversed);
    }
    return reversed;
  }

 private:
  static constexpr unsigned kDone = ~0u;

  void component(SiteId head, std::vector<SiteId>& reversed) {
    std::vector<SiteId> inside;
    for (const SiteId next : ways_[head]) {
      if (number_[next] == 0) visit(next, inside);
    }
    reversed.insert(reversed.end(), inside.begin(), inside.end());
    reversed.push_back(head);
  }

  // Returns the smallest number that can be reached from the block.
  unsigned visit(SiteId block, std::vector<SiteId>& reversed) {
    stack_.push_back(block);
    unsigned lowest = number_[block] = ++visited_;
    bool in_loop = false;
    for (const SiteId next : ways_[block]) {
      const unsigned reached = number_[next] == 0 ? visit(next, reversed) : number_[next];
      if (reached > lowest) continue;
      lowest = reached;
      in_loop = true;
    }
    if (lowest != number_[block]) return lowest;
    number_[block] = kDone;
    SiteId popped = stack_.back();
    stack_.pop_back();
    if (!in_loop) {
      reversed.push_back(block);
      return lowest;
    }
    for (; popped != block; stack_.pop_back()) {
      number_[popped] = 0;
      popped = stack_.back();
    }
    component(block, reversed);
    return lowest;
  }

  const std::vector<std::vector<SiteId>>& ways_;
  std::vector<unsigned> number_;
  std::vector<SiteId> stack_;
  unsigned visited_ = 0;
};

}  // namespace

void Recorder::order_blocks() {
  if (blocks_are_ordered_) return;
  blocks_are_ordered_ = true;
  std::vector<std::vector<SiteId>> ways(sites_.size());
  std::vector<char> follows(sites_.size(), 0);
  for (SiteId id = 1; id < sites_.size(); ++id) {
    ways[id] = sites_[id].ways_on;
    for (const SiteId next : ways[id]) follows[next] = 1;
  }
  // First the blocks where functions begin; then blocks not reached from these: of functions that begin with a loop.
  std::vector<SiteId> entries;
  for (const char inside : {0, 1}) {
    for (SiteId id = 1; id < sites_.size(); ++id) {
      if (sites_[id].width == 0 && follows[id] == inside) entries.push_back(id);
    }
  }
  const std::vector<SiteId> reversed = WeakTopologicalOrder(ways).of_all(entries);
  for (std::size_t i = 0; i < reversed.size(); ++i)
    sites_[reversed[i]].order = static_cast<unsigned>(reversed.size() - i);
}

// ---- Memory ----

Shadow* Recorder::find_global(std::uintptr_t address) {
  Page& page = pages_[address / kPageBytes % pages_.size()];
  if (page.number != address / kPageBytes || page.launch != launch_number_) {
    page = {address / kPageBytes, nullptr, true, launch_number_, true};
    auto [begin, size] = allocation_beside(reinterpret_cast<const void*>(address));
    if (begin == nullptr && address >= value_of(&__data_start) && address < value_of(&_end)) {
      begin = &__data_start;
      size = static_cast<std::size_t>(&_end - &__data_start);
      page.own = false;
    }
    if (begin != nullptr) {
      const int number = static_cast<int>(allocations_.size());
      page.shadow = &allocations_.try_emplace(value_of(begin), value_of(begin), size, number).first->second;
    } else {
      page.can_be_read = can_be_read(address);
    }
  }
  return page.shadow != nullptr && (page.own || page.shadow->contains(address, 1)) ? page.shadow : nullptr;
}

// ---- Races ----

void Fences::add(std::uint16_t thread, std::uint32_t epoch, std::uint32_t time) {
  of_thread[thread].push_back(time);
  if (first_in_epoch.empty() || first_in_epoch.back().epoch < epoch) first_in_epoch.push_back({epoch, time});
  last = time;
}

std::uint32_t Fences::published(const Stamp& before) const {
  std::uint32_t fenced = ~0u;
  const auto own = of_thread.find(before.thread);
  if (own != of_thread.end()) {
    const auto after = std::upper_bound(own->second.begin(), own->second.end(), before.time);
    if (after != own->second.end()) fenced = *after;
  }
  const auto later = std::partition_point(first_in_epoch.begin(), first_in_epoch.end(),
                                          [&](const First& first) { return first.epoch <= before.epoch; });
  if (later != first_in_epoch.end()) fenced = std::min(fenced, later->time);
  const auto publication = std::upper_bound(publications.begin(), publications.end(), fenced);
  return publication != publications.end() ? *publication : 0;
}

std::uint32_t Recorder::new_epoch(std::uint64_t block, unsigned grid_barriers) {
  epochs_.push_back({block, grid_barriers});
  return first_epoch_ + static_cast<std::uint32_t>(epochs_.size() - 1);
}

Race::Side Recorder::side(const Stamp& stamp) const {
  return {
      {}, sites_[stamp.site].op, index_in(epoch(stamp.epoch).block, launch.grid), index_in(stamp.thread, launch.block)};
}

void Recorder::report_race(const Stamp& first, const Stamp& second, Race::Kind kind, Space space, bool between_blocks) {
  const auto [place, is_new] = races_.try_emplace({first.site, second.site, kind, between_blocks});
  Race& race = place->second;
  if (is_new) {
    race = {kind, space, between_blocks, side(first), side(second), 0, {}};
  }
  ++race.count;
  const std::array<std::uint32_t, 2> both{first.executed, second.executed};
  const bool is_new_pair = race.executed.empty() || race.executed.back() != both;  // else another word of the same
  if (both[0] != 0 && both[1] != 0 && is_new_pair && race.executed.size() < Race::kMost) race.executed.push_back(both);
}

// ---- For tests and programs ----

const char* name(Space space) {
  switch (space) {
    case Space::global:
      return "global";
    case Space::shared:
      return "shared";
    case Space::constant:
      break;
  }
  return "constant";
}

const char* name(Op op) {
  switch (op) {
    case Op::load:
      return "load";
    case Op::store:
      return "store";
    case Op::atomic:
      break;
  }
  return "atomic";
}

const char* name(Race::Kind kind) {
  switch (kind) {
    case Race::Kind::write_after_read:
      return "write after read";
    case Race::Kind::read_after_write:
      return "read after write";
    case Race::Kind::write_after_write:
      break;
  }
  return "write after write";
}

const char* name(WarpEvent::Kind kind) {
  switch (kind) {
    case WarpEvent::Kind::access:
      return "access";
    case WarpEvent::Kind::landing:
      return "landing";
    case WarpEvent::Kind::collective:
      return "collective";
    case WarpEvent::Kind::wait:
      return "wait";
    case WarpEvent::Kind::returned:
      return "returned";
    case WarpEvent::Kind::barrier:
      break;
  }
  return "barrier";
}

Counts& Counts::operator+=(const Counts& other) {
  requests += other.requests;
  lanes += other.lanes;
  units += other.units;
  ideal += other.ideal;
  bytes_requested += other.bytes_requested;
  bytes_moved += other.bytes_moved;
  return *this;
}

Counts Launch::total(Space space, Op op) const {
  Counts sum;
  for (const Access& access : accesses) {
    if (access.space == space && access.op == op) sum += access;
  }
  return sum;
}

void start(bool events) {
  std::lock_guard<std::mutex> lock(device_mutex());
  Recorder& recorder = Recorder::get();
  recorder.launches.clear();
  recorder.executed = {events, {{}}, {}};
  recorder.on = true;
}

std::vector<Launch> stop() {
  std::lock_guard<std::mutex> lock(device_mutex());
  Recorder& recorder = Recorder::get();
  recorder.on = false;
  return std::move(recorder.launches);
}

}  // namespace cuda_emu::trace
