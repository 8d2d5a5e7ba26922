// Warp collectives. Every lane publishes its part and waits; the last lane to arrive computes all results.
#include "cuda_emu/warp.hpp"

#include <algorithm>

#include "cuda_emu/matrix_product.hpp"
#include "scheduler.hpp"

namespace cuda_emu {
namespace {

constexpr std::uint64_t kPoison = ~std::uint64_t{0};  // NaN, or -1

// The parts of one collective, by lane. Lanes outside `lanes` take no part.
struct Parts {
  unsigned lanes = 0;
  unsigned returned = 0;  // lanes of the mask that have returned
  Collective* part[kWarpSize];
  std::uint64_t value[kWarpSize];
  // The first lane that reads from a lane that has returned.
  bool reads_returned = false;
  unsigned reader = 0, source = 0;
};

template <class Action>
void for_each_lane(unsigned lanes, Action action) {
  for (; lanes != 0; lanes &= lanes - 1) action(static_cast<unsigned>(__builtin_ctz(lanes)));
}

unsigned voters(const Parts& parts) {
  unsigned lanes = 0;
  for_each_lane(parts.lanes, [&](unsigned lane) { lanes |= parts.value[lane] != 0 ? 1u << lane : 0u; });
  return lanes;
}

unsigned lanes_with_value(const Parts& parts, std::uint64_t value) {
  unsigned lanes = 0;
  for_each_lane(parts.lanes, [&](unsigned lane) { lanes |= parts.value[lane] == value ? 1u << lane : 0u; });
  return lanes;
}

template <class T, class Combine>
std::uint64_t reduce(const Parts& parts, Combine combine) {
  unsigned rest = parts.lanes;
  T total = static_cast<T>(parts.value[__builtin_ctz(rest)]);
  rest &= rest - 1;
  for_each_lane(rest, [&](unsigned lane) { total = combine(total, static_cast<T>(parts.value[lane])); });
  return static_cast<std::uint64_t>(static_cast<unsigned>(total));
}

// source(argument, lane, begin, end) returns the lane that `lane`, in the segment [begin, end), reads from.
template <class Source>
void shuffle(Parts& parts, Source source) {
  for_each_lane(parts.lanes, [&](unsigned lane) {
    Collective& part = *parts.part[lane];
    const unsigned width = static_cast<unsigned>(part.width);
    const unsigned begin = lane & ~(width - 1);
    const unsigned argument = static_cast<unsigned>(part.argument) % kWarpSize;  // the hardware uses five bits
    const unsigned from = source(argument, lane, begin, begin + width);
    part.source = static_cast<int>(from);
    part.result = parts.lanes >> from & 1 ? parts.value[from] : kPoison;
    if (parts.reads_returned || !(parts.returned >> from & 1)) return;
    parts.reads_returned = true;
    parts.reader = lane;
    parts.source = from;
  });
}

unsigned source_at(unsigned rank, unsigned, unsigned begin, unsigned end) { return begin + (rank & (end - begin - 1)); }

// If the source is outside the segment, the lane gets its own value.
unsigned source_below(unsigned distance, unsigned lane, unsigned begin, unsigned) {
  return distance > lane - begin ? lane : lane - distance;
}

unsigned source_above(unsigned distance, unsigned lane, unsigned, unsigned end) {
  return distance >= end - lane ? lane : lane + distance;
}

unsigned source_opposite(unsigned bits, unsigned lane, unsigned, unsigned end) {
  const unsigned source = lane ^ bits;
  return source >= end ? lane : source;
}

void give_all(Parts& parts, std::uint64_t result) {
  for_each_lane(parts.lanes, [&](unsigned lane) { parts.part[lane]->result = result; });
}

// All 32 lanes must take part, in the same function.
void evaluate_fragments(Parts& parts) {
  Fragments* lanes[kWarpSize];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    std::memcpy(&lanes[lane], &parts.value[lane], sizeof lanes[lane]);
  }
  lanes[0]->evaluate(lanes);
}

void evaluate(WarpOp op, Parts& parts) {
  switch (op) {
    case WarpOp::sync:
    case WarpOp::converge:
      return;
    case WarpOp::shfl:
      return shuffle(parts, source_at);
    case WarpOp::shfl_up:
      return shuffle(parts, source_below);
    case WarpOp::shfl_down:
      return shuffle(parts, source_above);
    case WarpOp::shfl_xor:
      return shuffle(parts, source_opposite);
    case WarpOp::ballot:
      return give_all(parts, voters(parts));
    case WarpOp::any:
      return give_all(parts, voters(parts) != 0);
    case WarpOp::all:
      return give_all(parts, voters(parts) == parts.lanes);
    case WarpOp::reduce_add:
      return give_all(parts, reduce<unsigned>(parts, [](unsigned a, unsigned b) { return a + b; }));
    case WarpOp::reduce_min_signed:
      return give_all(parts, reduce<int>(parts, [](int a, int b) { return std::min(a, b); }));
    case WarpOp::reduce_max_signed:
      return give_all(parts, reduce<int>(parts, [](int a, int b) { return std::max(a, b); }));
    case WarpOp::reduce_min_unsigned:
      return give_all(parts, reduce<unsigned>(parts, [](unsigned a, unsigned b) { return std::min(a, b); }));
    case WarpOp::reduce_max_unsigned:
      return give_all(parts, reduce<unsigned>(parts, [](unsigned a, unsigned b) { return std::max(a, b); }));
    case WarpOp::reduce_and:
      return give_all(parts, reduce<unsigned>(parts, [](unsigned a, unsigned b) { return a & b; }));
    case WarpOp::reduce_or:
      return give_all(parts, reduce<unsigned>(parts, [](unsigned a, unsigned b) { return a | b; }));
    case WarpOp::reduce_xor:
      return give_all(parts, reduce<unsigned>(parts, [](unsigned a, unsigned b) { return a ^ b; }));
    case WarpOp::match_any:
      return for_each_lane(
          parts.lanes, [&](unsigned lane) { parts.part[lane]->result = lanes_with_value(parts, parts.value[lane]); });
    case WarpOp::match_all: {
      const std::uint64_t first = parts.value[__builtin_ctz(parts.lanes)];
      return give_all(parts, lanes_with_value(parts, first) == parts.lanes ? parts.lanes : 0);
    }
    case WarpOp::fragments:
      return evaluate_fragments(parts);
  }
}

bool is_width(int width) { return width > 0 && width <= static_cast<int>(kWarpSize) && (width & (width - 1)) == 0; }

bool is_blocked(ThreadState state) {
  return state == ThreadState::at_block_barrier || state == ThreadState::at_grid_barrier ||
         state == ThreadState::at_warp_collective || state == ThreadState::yielding;
}

}  // namespace

// The last warp of a block may have fewer than 32 lanes.
unsigned Worker::existing_lanes(unsigned warp) const {
  const unsigned threads = thread_count_ - warp * kWarpSize;
  return threads >= kWarpSize ? ~0u : (1u << threads) - 1;
}

std::uint64_t Worker::warp_collective(Collective& part) {
  const unsigned warp = current_ / kWarpSize;
  const unsigned lane_bit = 1u << current_ % kWarpSize;
  block_current(ThreadState::at_warp_collective, *part.where);
  threads_[current_].collective = &part;
  if (!(part.mask & lane_bit)) fail({"mask", "a lane calls a warp collective with a mask that does not name it"});
  if (!is_width(part.width)) fail({"width", "the width of a shuffle is not a power of two from 1 to 32"});
  warps_[warp].waiting |= lane_bit;
  complete_collective(warp, part.mask);
  wait();
  return part.result;
}

// Evaluates the collective when every lane of the mask that has not returned waits in it. A lane that waits with
// another mask is no error yet: it may belong to another group.
void Worker::complete_collective(unsigned warp, unsigned mask) {
  const unsigned needed = mask & existing_lanes(warp) & ~warps_[warp].returned;
  if (needed == 0 || (needed & ~warps_[warp].waiting) != 0) return;

  Parts parts;
  parts.lanes = needed;
  parts.returned = mask & warps_[warp].returned;
  const Collective& first = *threads_[warp * kWarpSize + static_cast<unsigned>(__builtin_ctz(needed))].collective;
  bool same_mask = true;
  bool same_op = true;
  for_each_lane(needed, [&](unsigned lane) {
    Collective* part = threads_[warp * kWarpSize + lane].collective;
    same_mask &= part->mask == mask;
    same_op &= part->op == first.op &&
               (first.op != WarpOp::fragments || std::strcmp(part->where->what, first.where->what) == 0);
    parts.part[lane] = part;
    parts.value[lane] = part->value;
  });
  if (!same_mask) return;
  if (!same_op) fail({"collectives differ", "lanes of one warp wait in different warp collectives"});

  if (first.op == WarpOp::fragments && needed != ~0u)
    fail({"mask", "a matrix function that not all 32 lanes of the warp call"});

  evaluate(first.op, parts);
  if (parts.reads_returned) {
    // A warning only: the reader may not need the value, like the upper half of a warp in a shuffle-down sum.
    warn_once({"lane is gone", "lane " + std::to_string(parts.reader) + " reads lane " + std::to_string(parts.source) +
                                   ", which has returned: the value is undefined"},
              *parts.part[parts.reader]->where, warp * kWarpSize + parts.reader);
  }
  trace.meet(warp, needed, first.op == WarpOp::sync);
  trace.go_on(warp, needed);
  warps_[warp].waiting &= ~needed;
  make_lanes_ready(warp, needed);
}

// Called when a lane has returned, so the others need not wait for it.
void Worker::recheck_collectives(unsigned warp) {
  for_each_lane(warps_[warp].waiting, [&](unsigned lane) {
    const bool still_waits = warps_[warp].waiting >> lane & 1;
    if (still_waits) complete_collective(warp, threads_[warp * kWarpSize + lane].collective->mask);
  });
}

// Puts the lanes first in the queue, because their stacks are in the cache.
void Worker::make_lanes_ready(unsigned warp, unsigned lanes) {
  if (order_ == Order::reverse) {
    for_each_lane(lanes, [&](unsigned lane) { push_front(warp * kWarpSize + lane); });
    return;
  }
  while (lanes != 0) {
    const unsigned highest = 31 - static_cast<unsigned>(__builtin_clz(lanes));
    push_front(warp * kWarpSize + highest);
    lanes &= ~(1u << highest);
  }
}

unsigned Worker::converged_lanes(const Where& where) {
  Collective part{WarpOp::converge, 0, 0, 0, 0, 0, &where, false};
  block_current(ThreadState::at_warp_collective, where);
  threads_[current_].collective = &part;
  warps_[current_ / kWarpSize].converging |= 1u << current_ % kWarpSize;
  ++converging_;
  wait();
  return static_cast<unsigned>(part.result);
}

// When no lane of the warp can run, the lanes that wait in converged_lanes() at the same place converge. This models a
// GPU that runs each divergent path as far as possible before lanes reconverge.
void Worker::resolve_convergence(unsigned warp) {
  const Thread* lanes = threads_ + warp * kWarpSize;
  unsigned rest = warps_[warp].converging;
  bool all_blocked = rest != 0;
  for_each_lane(existing_lanes(warp) & ~warps_[warp].returned & ~rest,
                [&](unsigned lane) { all_blocked &= is_blocked(lanes[lane].state); });
  if (!all_blocked) return;

  warps_[warp].converging = 0;
  converging_ -= static_cast<unsigned>(__builtin_popcount(rest));
  make_lanes_ready(warp, rest);
  while (rest != 0) {
    const Where& place = *lanes[__builtin_ctz(rest)].where;
    unsigned group = 0;
    for_each_lane(rest, [&](unsigned lane) { group |= same_place(*lanes[lane].where, place) ? 1u << lane : 0u; });
    for_each_lane(group, [&](unsigned lane) { lanes[lane].collective->result = group; });
    trace.meet(warp, group, false);
    trace.go_on(warp, group);
    rest &= ~group;
  }
}

std::uint64_t warp_collective(Collective& part) { return active_worker(part.where->what).warp_collective(part); }

unsigned converged_lanes(const Where& where) { return active_worker(where.what).converged_lanes(where); }

}  // namespace cuda_emu
