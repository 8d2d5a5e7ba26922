// Cooperative groups for the CPU backend: the thread block, the grid, tiles and coalesced groups.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

namespace details {

// The shared memory of a warp for tiles of several warps: its value, and for a tile's first warp the tile's barrier.
struct WarpSlot {
  unsigned arrived, phase;
  std::uint64_t value;
};

}  // namespace details

// Shared memory for tiles of more than 32 threads in a block of at most MaxBlockSize.
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
  details::WarpSlot slots[(MaxBlockSize + 31) / 32];
};

class thread_block {
 public:
  explicit thread_block(details::WarpSlot* slots = nullptr) : slots_(slots) {}
  details::WarpSlot* slots() const { return slots_; }

  static void sync(CUDA_EMU_HERE) {
    cuda_emu::block_barrier(cuda_emu::BarrierVote::none, false, {"thread_block::sync", file, line});
  }
  static unsigned thread_rank() { return cuda_emu::thread_rank_in_block(); }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static bool is_valid() { return true; }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }

 private:
  details::WarpSlot* slots_;  // null: no tiles of more than 32 threads
};

inline thread_block this_thread_block() { return thread_block(); }

// All threads of the block must call it.
template <unsigned MaxBlockSize>
inline thread_block this_thread_block(block_tile_memory<MaxBlockSize>& memory, CUDA_EMU_HERE) {
  if (thread_block::thread_rank() == 0) {
    for (details::WarpSlot& slot : memory.slots) slot = {0, 0, 0};
  }
  thread_block::sync(file, line);
  return thread_block(memory.slots);
}

class grid_group {
 public:
  static void sync(CUDA_EMU_HERE) { cuda_emu::grid_barrier({"grid_group::sync", file, line}); }
  static bool is_valid() { return cuda_emu::is_cooperative_launch(); }
  static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long num_blocks() { return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z; }
  static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned long long size() { return num_threads(); }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
};

inline grid_group this_grid() { return {}; }

namespace details {

// Shuffles a value of any size, in pieces of 8 bytes.
template <class T>
inline T shuffle(cuda_emu::WarpOp op, unsigned mask, const T& value, int argument, int width,
                 const cuda_emu::Where& where) {
  static_assert(std::is_trivially_copyable<T>::value && std::is_default_constructible<T>::value,
                "only plain values can be shuffled");
  T result;
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t size = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const char*>(&value) + at, size);
    bits = cuda_emu::collective(op, mask, bits, argument, width, where);
    std::memcpy(reinterpret_cast<char*>(&result) + at, &bits, size);
  }
  return result;
}

// Returns the lane of the mask's n-th set bit, counted from 0.
inline int nth_lane(unsigned mask, unsigned n) {
  while (n-- > 0) mask &= mask - 1;
  return __ffs(static_cast<int>(mask)) - 1;
}

// Votes and matches, common to all groups within a warp. The derived class supplies mask(), and ranks(lanes), which
// converts a mask of the warp's lanes to one of the group's ranks.
template <class Group>
class WarpGroup {
 public:
  void sync(CUDA_EMU_HERE) const { vote(cuda_emu::WarpOp::sync, 0, {"sync of a group", file, line}); }
  int any(int predicate, CUDA_EMU_HERE) const {
    return static_cast<int>(vote(cuda_emu::WarpOp::any, predicate, {"any of a group", file, line}));
  }
  int all(int predicate, CUDA_EMU_HERE) const {
    return static_cast<int>(vote(cuda_emu::WarpOp::all, predicate, {"all of a group", file, line}));
  }
  unsigned ballot(int predicate, CUDA_EMU_HERE) const {
    return self().ranks(vote(cuda_emu::WarpOp::ballot, predicate, {"ballot of a group", file, line}));
  }

  // Returns the mask of the warp's lanes that have the same value, or for bool the same vote.
  template <class T>
  unsigned lanes_with(T value, const cuda_emu::Where& where) const {
    return match(cuda_emu::WarpOp::match_any, value, where);
  }
  unsigned voting_lanes(bool predicate, const cuda_emu::Where& where) const {
    return vote(cuda_emu::WarpOp::ballot, predicate, where);
  }

  template <class T>
  unsigned match_any(T value, CUDA_EMU_HERE) const {
    return self().ranks(match(cuda_emu::WarpOp::match_any, value, {"match_any of a group", file, line}));
  }

  template <class T>
  unsigned match_all(T value, int& predicate, CUDA_EMU_HERE) const {
    const unsigned lanes = match(cuda_emu::WarpOp::match_all, value, {"match_all of a group", file, line});
    predicate = lanes != 0;
    return self().ranks(lanes);
  }

 private:
  const Group& self() const { return static_cast<const Group&>(*this); }

  unsigned vote(cuda_emu::WarpOp op, int predicate, const cuda_emu::Where& where) const {
    return static_cast<unsigned>(cuda_emu::collective(op, self().mask(), predicate != 0, 0, warpSize, where));
  }

  template <class T>
  unsigned match(cuda_emu::WarpOp op, T value, const cuda_emu::Where& where) const {
    return static_cast<unsigned>(cuda_emu::collective(op, self().mask(), cuda_emu::to_bits(value), 0, warpSize, where));
  }
};

}  // namespace details

// The lanes of a warp that reached coalesced_threads() together.
class coalesced_group : public details::WarpGroup<coalesced_group> {
 public:
  explicit coalesced_group(unsigned mask) : mask_(mask) {}

  unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & lanes_below())); }
  unsigned num_threads() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }

  template <class T>
  T shfl(T value, unsigned rank, CUDA_EMU_HERE) const {
    return from_rank(value, rank % num_threads(), {"shfl of a coalesced group", file, line});
  }
  template <class T>
  T shfl_up(T value, unsigned delta, CUDA_EMU_HERE) const {
    const unsigned rank = thread_rank();
    return from_rank(value, delta <= rank ? rank - delta : rank, {"shfl_up of a coalesced group", file, line});
  }
  template <class T>
  T shfl_down(T value, unsigned delta, CUDA_EMU_HERE) const {
    const unsigned rank = thread_rank();
    const bool inside = delta < num_threads() - rank;
    return from_rank(value, inside ? rank + delta : rank, {"shfl_down of a coalesced group", file, line});
  }

  unsigned mask() const { return mask_; }

  // Returns the bits of `lanes` that belong to the group, packed in order of rank.
  unsigned ranks(unsigned lanes) const {
    unsigned packed = 0;
    unsigned rank = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank) {
      const unsigned lowest = rest & -rest;
      if (lanes & lowest) packed |= 1u << rank;
    }
    return packed;
  }

 private:
  static unsigned lanes_below() { return (1u << cuda_emu::lane_id()) - 1; }

  template <class T>
  T from_rank(const T& value, unsigned rank, const cuda_emu::Where& where) const {
    return details::shuffle(cuda_emu::WarpOp::shfl, mask_, value, details::nth_lane(mask_, rank), warpSize, where);
  }

  unsigned mask_;
};

inline coalesced_group coalesced_threads(CUDA_EMU_HERE) {
  return coalesced_group(cuda_emu::converged_lanes({"coalesced_threads", file, line}));
}

// `Size` consecutive threads of the parent group. The parent is part of the type only.
template <unsigned Size, class Parent = void, bool SeveralWarps = (Size > 32)>
class thread_block_tile : public details::WarpGroup<thread_block_tile<Size, Parent>> {
  static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16, 32, ... threads");

 public:
  thread_block_tile(unsigned meta_group_rank, unsigned meta_group_size)
      : meta_group_rank_(meta_group_rank), meta_group_size_(meta_group_size) {}

  template <class OtherParent>
  thread_block_tile(const thread_block_tile<Size, OtherParent>& other)
      : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}

  static unsigned thread_rank() { return cuda_emu::lane_id() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  unsigned meta_group_rank() const { return meta_group_rank_; }
  unsigned meta_group_size() const { return meta_group_size_; }

  template <class T>
  T shfl(T value, int rank, CUDA_EMU_HERE) const {
    return shuffle(cuda_emu::WarpOp::shfl, value, rank, {"shfl of a tile", file, line});
  }
  template <class T>
  T shfl_up(T value, unsigned delta, CUDA_EMU_HERE) const {
    return shuffle(cuda_emu::WarpOp::shfl_up, value, static_cast<int>(delta), {"shfl_up of a tile", file, line});
  }
  template <class T>
  T shfl_down(T value, unsigned delta, CUDA_EMU_HERE) const {
    return shuffle(cuda_emu::WarpOp::shfl_down, value, static_cast<int>(delta), {"shfl_down of a tile", file, line});
  }
  template <class T>
  T shfl_xor(T value, unsigned lane_mask, CUDA_EMU_HERE) const {
    return shuffle(cuda_emu::WarpOp::shfl_xor, value, static_cast<int>(lane_mask), {"shfl_xor of a tile", file, line});
  }

  static unsigned mask() { return (0xffffffffu >> (32 - Size)) << first_lane(); }
  static unsigned ranks(unsigned lanes) { return (lanes & mask()) >> first_lane(); }

 private:
  static unsigned first_lane() { return cuda_emu::lane_id() & ~(Size - 1); }

  template <class T>
  static T shuffle(cuda_emu::WarpOp op, const T& value, int argument, const cuda_emu::Where& where) {
    return details::shuffle(op, mask(), value, argument, static_cast<int>(Size), where);
  }

  unsigned meta_group_rank_;
  unsigned meta_group_size_;
};

// A tile of several full warps.
template <unsigned Size, class Parent>
class thread_block_tile<Size, Parent, true> {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16, 32, ... threads");
  using Warp = thread_block_tile<32>;

 public:
  explicit thread_block_tile(details::WarpSlot* of_block) : slots_(of_block + meta_group_rank() * (Size / 32)) {}

  template <class OtherParent>
  thread_block_tile(const thread_block_tile<Size, OtherParent, true>& other) : slots_(other.slots()) {}

  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return thread_block::num_threads() / Size; }
  details::WarpSlot* slots() const { return slots_; }

  void sync(CUDA_EMU_HERE) const {
    const Warp warp(0, 1);
    warp.sync(file, line);
    if (warp.thread_rank() == 0) {
      __threadfence();
      const unsigned phase = atomicAdd(&slots_->phase, 0);
      if (atomicAdd(&slots_->arrived, 1) == Size / 32 - 1) {
        atomicExch(&slots_->arrived, 0);
        __threadfence();
        atomicAdd(&slots_->phase, 1);
      } else {
        while (atomicAdd(&slots_->phase, 0) == phase) {
        }
      }
    }
    warp.sync(file, line);
  }
  template <class T>
  T shfl(T value, unsigned rank, CUDA_EMU_HERE) const {
    if (thread_rank() == rank) slots_->value = cuda_emu::to_bits(value);
    sync(file, line);
    const T result = value_of(0, value);
    sync(file, line);
    return result;
  }
  int any(int predicate, CUDA_EMU_HERE) const {
    return reduce(
        Warp(0, 1).any(predicate, file, line), [](int a, int b) { return a | b; }, file, line);
  }
  int all(int predicate, CUDA_EMU_HERE) const {
    return reduce(
        Warp(0, 1).all(predicate, file, line), [](int a, int b) { return a & b; }, file, line);
  }

  // Reduces the values of the tile's warps. All lanes of a warp must pass the same value.
  template <class T, class Operator>
  T reduce(T of_warp, Operator op, CUDA_EMU_HERE) const {
    constexpr unsigned warps = Size / 32;
    if (thread_rank() % 32 == 0) slots_[thread_rank() / 32].value = cuda_emu::to_bits(of_warp);
    sync(file, line);
    T values[warps];
    for (unsigned w = 0; w < warps; ++w) values[w] = value_of(w, of_warp);
    sync(file, line);
    for (unsigned distance = warps / 2; distance > 0; distance /= 2) {
      for (unsigned w = 0; w < distance; ++w) values[w] = op(values[w], values[w + distance]);
    }
    return values[0];
  }

 private:
  template <class T>
  T value_of(unsigned warp, T like) const {
    const std::uint64_t bits = slots_[warp].value;
    std::memcpy(&like, &bits, sizeof like);
    return like;
  }

  details::WarpSlot* slots_;  // of the tile's warps
};

template <unsigned Size>
inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
  if constexpr (Size > 32) {
    return thread_block_tile<Size, thread_block>(block.slots());
  } else {
    return {thread_block::thread_rank() / Size, (thread_block::num_threads() + Size - 1) / Size};
  }
}

// The tiles of a tile are numbered within that tile, not within the block.
template <unsigned Size, unsigned ParentSize, class Grandparent>
inline thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>> tiled_partition(
    const thread_block_tile<ParentSize, Grandparent>& parent) {
  static_assert(Size < ParentSize, "a tile is smaller than the tile it is cut from");
  static_assert(Size <= 32, "the emulator cuts tiles of more than 32 threads from the block alone");
  return {parent.thread_rank() / Size, ParentSize / Size};
}

// Any of the groups above: the block, or lanes of a warp.
class thread_group {
 public:
  thread_group(const thread_block&) {}
  thread_group(const coalesced_group& group) : lanes_(group.mask()) {}
  template <unsigned Size, class Parent>
  thread_group(const thread_block_tile<Size, Parent>& tile) : lanes_(tile.mask()) {}

  void sync(CUDA_EMU_HERE) const {
    if (lanes_ == 0) return thread_block::sync(file, line);
    coalesced_group(lanes_).sync(file, line);
  }
  unsigned thread_rank() const {
    return lanes_ == 0 ? thread_block::thread_rank() : coalesced_group(lanes_).thread_rank();
  }
  unsigned num_threads() const {
    return lanes_ == 0 ? thread_block::num_threads() : coalesced_group(lanes_).num_threads();
  }
  unsigned size() const { return num_threads(); }
  static bool is_valid() { return true; }

 private:
  unsigned lanes_ = 0;  // mask of the warp's lanes; 0 for the block
};

// Partitions the group into tiles of a size known at run time: 1, 2, 4, 8, 16 or 32.
inline coalesced_group tiled_partition(const thread_block&, unsigned size) {
  const unsigned first = cuda_emu::lane_id() & ~(size - 1);
  const unsigned left = thread_block::num_threads() - (thread_block::thread_rank() - cuda_emu::lane_id());
  const unsigned existing = left >= 32 ? ~0u : (1u << left) - 1;
  return coalesced_group((size >= 32 ? ~0u : ((1u << size) - 1) << first) & existing);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned first = parent.thread_rank() / size * size;
  unsigned lanes = 0;
  for (unsigned rank = first; rank < first + size && rank < parent.size(); ++rank) {
    lanes |= 1u << details::nth_lane(parent.mask(), rank);
  }
  return coalesced_group(lanes);
}

// Returns the group of threads with the same label, or the same predicate.
template <class Group, class Label>
inline coalesced_group labeled_partition(const Group& group, Label label, CUDA_EMU_HERE) {
  return coalesced_group(group.lanes_with(label, {"labeled_partition", file, line}));
}
template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate, CUDA_EMU_HERE) {
  const unsigned voting = group.voting_lanes(predicate, {"binary_partition", file, line});
  return coalesced_group(predicate ? voting : group.mask() & ~voting);
}

inline thread_block_tile<1> this_thread() { return {0, 1}; }

template <class Group>
inline void sync(const Group& group, CUDA_EMU_HERE) {
  group.sync(file, line);
}

}  // namespace cooperative_groups
