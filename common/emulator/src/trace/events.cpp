// Records a traced launch for a film: the requests of each warp with the lanes' values, the collectives, and where
// lanes stop. The hooks run before an access. So the value of a load is read at once, that of a store when its thread
// makes another access or stops, and that of an asynchronous copy when its thread has waited for it.
#include <algorithm>

#include "block_trace.hpp"
#include "scheduler.hpp"

namespace cuda_emu {

using trace::Op;
using trace::Recorder;
using trace::WarpEvent;

namespace {

template <class Action>
void for_each_lane(unsigned lanes, Action action) {
  for (; lanes != 0; lanes &= lanes - 1) action(static_cast<unsigned>(__builtin_ctz(lanes)));
}

}  // namespace

std::uint32_t BlockTrace::note_access(const void* memory, unsigned width, trace::SiteId site) {
  trace::Executed& executed = Recorder::get().executed;
  const std::uint32_t number = executed.next();
  if (number == 0) return 0;
  const auto [op, async] = std::pair(Recorder::get().site(site).op, Recorder::get().site(site).async);
  if (op == Op::load) {
    executed.read(number, memory, width);
    return number;
  }
  if (op == Op::atomic && width <= 8) executed.read(number, memory, width, 2);
  (async ? copies_ : stores_).push_back({number, current_, site, memory, width});
  return number;
}

// Reads the values of pending stores.
void BlockTrace::settle() {
  trace::Executed& executed = Recorder::get().executed;
  for (const Store& store : stores_) executed.read(store.executed, store.memory, store.width);
  stores_.clear();
}

// Called when the running thread polls memory. Drops its last poll if it has read the same value many times.
void BlockTrace::forget_poll() {
  constexpr unsigned kKept = 8;
  std::vector<Event>& events = events_[current_];
  const auto& words = Recorder::get().executed.words;
  std::size_t before = 0;  // number of events before the last poll
  unsigned polls = 0;
  const Event* last = nullptr;
  for (std::size_t i = events.size(); i > 0 && polls <= kKept; --i) {
    const Event& event = events[i - 1];
    if (event.what == What::basic_block) continue;
    if (last == nullptr) last = &event;
    const bool is_load = event.what == What::access && Recorder::get().site(event.site).op != Op::store;
    if (!is_load || event.site != last->site || event.address != last->address) return;
    if (words[event.executed] != words[last->executed]) return;
    if (++polls == 2) before = i;
  }
  if (polls > kKept) events.resize(before);
}

// Called when the running thread has waited for its asynchronous copy to `memory`.
void BlockTrace::note_landing(const void* memory) {
  const auto copy = std::find_if(copies_.begin(), copies_.end(), [&](const Store& store) {
    return store.thread == current_ && store.memory == memory;
  });
  if (copy == copies_.end()) return;
  trace::Executed& executed = Recorder::get().executed;
  const std::uint32_t number = executed.next();
  executed.read(number, memory, copy->width);
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(memory) - shared_begin_;
  events_[current_].push_back({place, copy->site, What::landing, depth_[current_], number});
  copies_.erase(copy);
}

// Called when the running thread stops. The operation in which it waits is known by then.
void BlockTrace::note_stop(unsigned thread) {
  settle();
  stopped_[thread] = Recorder::get().executed.next();
}

// Returns the number of the meeting, and sets the number of each lane's part in it.
trace::SiteId BlockTrace::note_meeting(unsigned warp, unsigned lanes, std::array<std::uint32_t, 32>& numbers) {
  trace::Executed& executed = Recorder::get().executed;
  const auto first = static_cast<unsigned>(__builtin_ctz(lanes));
  executed.meetings.push_back(*current_worker->thread(warp * 32 + first).collective->where);
  for_each_lane(lanes, [&](unsigned lane) {
    const Collective& part = *current_worker->thread(warp * 32 + lane).collective;
    numbers[lane] = executed.next();
    const bool is_word = part.value >> 32 == 0 && part.result >> 32 == 0;
    if (numbers[lane] == 0 || part.op == WarpOp::sync || part.op == WarpOp::converge) return;
    executed.words[numbers[lane]] = {static_cast<std::uint32_t>(part.value), static_cast<std::uint32_t>(part.result),
                                     static_cast<std::uint32_t>(part.source + 1), is_word ? 1u + part.is_float : 0u};
  });
  return static_cast<trace::SiteId>(executed.meetings.size() - 1);
}

WarpEvent BlockTrace::new_event(WarpEvent::Kind kind, unsigned warp, unsigned lanes) const {
  WarpEvent event;
  event.kind = kind;
  event.block = block_;
  event.warp = warp;
  event.lanes = lanes;
  return event;
}

void BlockTrace::keep_request(WarpEvent::Kind kind, unsigned warp, const Replay& state, const trace::Site& site,
                              const trace::Request& request, trace::Cost cost) {
  const trace::Executed& executed = Recorder::get().executed;
  if (!executed.on) return;
  WarpEvent event = new_event(kind, warp, request.lanes);
  event.space = site.space;
  event.op = site.op;
  event.width = site.width;
  event.async = site.async;
  event.units = cost.units;
  event.ideal = cost.ideal;
  event.return_address = site.return_address;
  if (site.space == trace::Space::shared)
    event.array = shared_array(request.address[static_cast<unsigned>(__builtin_ctz(request.lanes))]);
  std::array<int, 32> passes;
  passes.fill(-1);
  if (site.space == trace::Space::shared) trace::wavefronts(request, site.op == Op::atomic, &passes);
  bool all = true;
  for_each_lane(request.lanes, [&](unsigned lane) {
    const std::uint32_t number = state.next[lane]->executed;
    all &= number != 0;
    event.parts.push_back({number, request.address[lane], executed.words[number], passes[lane]});
  });
  if (all) {
    Recorder::get().launch.events.push_back(std::move(event));
  } else {
    Recorder::get().launch.all_events = false;
  }
}

// Returns the index in Launch::shared_arrays of the variable at this address, else of the last one before it.
std::size_t BlockTrace::shared_array(std::uint64_t address) const {
  const SharedMemory::Used* used = memory_->find(memory_->begin() + address);
  std::vector<trace::SharedArray>& arrays = Recorder::get().launch.shared_arrays;
  if (used == nullptr) return arrays.size();
  const auto begin = static_cast<std::uint64_t>(used->begin - memory_->begin());
  const auto same = std::find_if(arrays.begin(), arrays.end(), [&](const trace::SharedArray& one) {
    return one.begin == begin && one.type == used->type && one.name == used->name;
  });
  const auto place = static_cast<std::size_t>(same - arrays.begin());
  if (same == arrays.end()) arrays.push_back({used->name, used->type, begin, used->size});
  return place;
}

void BlockTrace::replay_landing(const Replay& state, unsigned lanes, unsigned warp) {
  const trace::Site& site = Recorder::get().site(state.next[static_cast<unsigned>(__builtin_ctz(lanes))]->site);
  trace::Request request;
  request.lanes = lanes;
  request.width = site.width;
  for_each_lane(lanes, [&](unsigned lane) { request.address[lane] = state.next[lane]->address; });
  keep_request(WarpEvent::Kind::landing, warp, state, site, request, {});
}

void BlockTrace::keep_meeting(unsigned warp, unsigned lanes, trace::SiteId meeting,
                              const std::array<std::uint32_t, 32>& numbers) {
  const trace::Executed& executed = Recorder::get().executed;
  if (!executed.on) return;
  if (numbers[31 - static_cast<unsigned>(__builtin_clz(lanes))] == 0) {
    Recorder::get().launch.all_events = false;
    return;
  }
  const Where& where = executed.meetings[meeting];
  WarpEvent event = new_event(WarpEvent::Kind::collective, warp, lanes);
  event.what = where.what;
  event.line = {where.file, where.line};
  for_each_lane(lanes, [&](unsigned lane) {
    event.parts.push_back({numbers[lane], 0, executed.words[numbers[lane]]});
  });
  Recorder::get().launch.events.push_back(std::move(event));
}

// Records lanes that stopped at the same place as one event. A warp collective is recorded when its lanes meet; here
// only if the launch failed before.
void BlockTrace::keep_stops(unsigned warp, bool failed) {
  for (unsigned first = warp * 32; first < warp * 32 + 32 && first < threads_; ++first) {
    if (stopped_[first] == 0) continue;
    const Thread& thread = current_worker->thread(first);
    if (thread.state == ThreadState::at_warp_collective && !failed) continue;
    const bool is_back = thread.state == ThreadState::returned;
    WarpEvent event = new_event(is_back ? WarpEvent::Kind::returned : WarpEvent::Kind::wait, warp, 0);
    if (!is_back) {
      event.what = thread.where->what;
      event.line = {thread.where->file, thread.where->line};
    }
    for (unsigned other = first; other < warp * 32 + 32 && other < threads_; ++other) {
      const Thread& one = current_worker->thread(other);
      if (stopped_[other] == 0 || one.state != thread.state) continue;
      if (!is_back && !same_place(*one.where, *thread.where)) continue;
      event.lanes |= 1u << other % 32;
      event.parts.push_back({stopped_[other]});
      stopped_[other] = 0;
    }
    Recorder::get().launch.events.push_back(std::move(event));
  }
}

// Records what the lanes of a failed launch did until then, and where they wait for lanes that never arrive.
void BlockTrace::keep_failed_launch() {
  settle();
  for (unsigned warp = 0; warp * 32 < threads_; ++warp) {
    replay(warp);
    keep_stops(warp, true);
  }
}

}  // namespace cuda_emu
