// Warp collectives: shuffles, votes, reductions and matches over the lanes of a mask.
#pragma once

#include <type_traits>

#include "device.hpp"

namespace cuda_emu {

enum class WarpOp : unsigned char {
  sync,
  converge,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  any,
  all,
  reduce_add,
  reduce_min_signed,
  reduce_max_signed,
  reduce_min_unsigned,
  reduce_max_unsigned,
  reduce_and,
  reduce_or,
  reduce_xor,
  match_any,
  match_all,
  fragments,  // the value is the address of a Fragments (matrix_product.hpp)
};

// One lane's part of a collective. It is in the lane's own stack frame while the lane waits. The last lane to arrive
// writes the results of all lanes.
struct Collective {
  WarpOp op;
  unsigned mask;
  int argument;  // source lane, distance or lane mask of a shuffle
  int width;
  std::uint64_t value;
  std::uint64_t result;
  const Where* where;
  bool is_float;    // shuffle of float or double
  int source = -1;  // shuffle: the lane whose value is the result
};

std::uint64_t warp_collective(Collective& part);

// Waits until all other lanes of the warp wait or have returned. Returns the mask of the lanes that wait here, at the
// same place.
unsigned converged_lanes(const Where& where);

template <class T>
inline std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a collective's value has at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

inline std::uint64_t collective(WarpOp op, unsigned mask, std::uint64_t value, int argument, int width,
                                const Where& where, bool is_float = false) {
  Collective part{op, mask, argument, width, value, 0, &where, is_float};
  return warp_collective(part);
}

template <class T>
inline T shuffle(WarpOp op, unsigned mask, T value, int argument, int width, const Where& where) {
  const std::uint64_t bits =
      collective(op, mask, to_bits(value), argument, width, where, std::is_floating_point<T>::value);
  T result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

}  // namespace cuda_emu

#define CUDA_EMU_SHUFFLE(NAME, OP, ARGUMENT, T)                                                    \
  inline T NAME(unsigned mask, T value, ARGUMENT argument, int width = warpSize, CUDA_EMU_HERE) {  \
    return cuda_emu::shuffle(cuda_emu::WarpOp::OP, mask, value, static_cast<int>(argument), width, \
                             {#NAME, file, line});                                                 \
  }
#define CUDA_EMU_SHUFFLES(T)                                 \
  CUDA_EMU_SHUFFLE(__shfl_sync, shfl, int, T)                \
  CUDA_EMU_SHUFFLE(__shfl_up_sync, shfl_up, unsigned, T)     \
  CUDA_EMU_SHUFFLE(__shfl_down_sync, shfl_down, unsigned, T) \
  CUDA_EMU_SHUFFLE(__shfl_xor_sync, shfl_xor, int, T)
CUDA_EMU_SHUFFLES(int)
CUDA_EMU_SHUFFLES(unsigned)
CUDA_EMU_SHUFFLES(long)
CUDA_EMU_SHUFFLES(unsigned long)
CUDA_EMU_SHUFFLES(long long)
CUDA_EMU_SHUFFLES(unsigned long long)
CUDA_EMU_SHUFFLES(float)
CUDA_EMU_SHUFFLES(double)
#undef CUDA_EMU_SHUFFLES
#undef CUDA_EMU_SHUFFLE

inline void __syncwarp(unsigned mask = 0xffffffffu, CUDA_EMU_HERE) {
  cuda_emu::collective(cuda_emu::WarpOp::sync, mask, 0, 0, warpSize, {"__syncwarp", file, line});
}

#define CUDA_EMU_VOTE(NAME, OP, T)                                                                           \
  inline T NAME(unsigned mask, int predicate, CUDA_EMU_HERE) {                                               \
    return static_cast<T>(                                                                                   \
        cuda_emu::collective(cuda_emu::WarpOp::OP, mask, predicate != 0, 0, warpSize, {#NAME, file, line})); \
  }
CUDA_EMU_VOTE(__ballot_sync, ballot, unsigned)
CUDA_EMU_VOTE(__any_sync, any, int)
CUDA_EMU_VOTE(__all_sync, all, int)
#undef CUDA_EMU_VOTE

#define CUDA_EMU_REDUCE(NAME, OP, T)                                                                                   \
  inline T NAME(unsigned mask, T value, CUDA_EMU_HERE) {                                                               \
    return static_cast<T>(                                                                                             \
        cuda_emu::collective(cuda_emu::WarpOp::OP, mask, cuda_emu::to_bits(value), 0, warpSize, {#NAME, file, line})); \
  }
CUDA_EMU_REDUCE(__reduce_add_sync, reduce_add, unsigned)
CUDA_EMU_REDUCE(__reduce_add_sync, reduce_add, int)
CUDA_EMU_REDUCE(__reduce_min_sync, reduce_min_unsigned, unsigned)
CUDA_EMU_REDUCE(__reduce_min_sync, reduce_min_signed, int)
CUDA_EMU_REDUCE(__reduce_max_sync, reduce_max_unsigned, unsigned)
CUDA_EMU_REDUCE(__reduce_max_sync, reduce_max_signed, int)
CUDA_EMU_REDUCE(__reduce_and_sync, reduce_and, unsigned)
CUDA_EMU_REDUCE(__reduce_or_sync, reduce_or, unsigned)
CUDA_EMU_REDUCE(__reduce_xor_sync, reduce_xor, unsigned)
#undef CUDA_EMU_REDUCE

#define CUDA_EMU_MATCH(T)                                                                                             \
  inline unsigned __match_any_sync(unsigned mask, T value, CUDA_EMU_HERE) {                                           \
    return static_cast<unsigned>(cuda_emu::collective(cuda_emu::WarpOp::match_any, mask, cuda_emu::to_bits(value), 0, \
                                                      warpSize, {"__match_any_sync", file, line}));                   \
  }                                                                                                                   \
  inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, CUDA_EMU_HERE) {                           \
    const unsigned lanes = static_cast<unsigned>(cuda_emu::collective(                                                \
        cuda_emu::WarpOp::match_all, mask, cuda_emu::to_bits(value), 0, warpSize, {"__match_all_sync", file, line})); \
    *predicate = lanes != 0;                                                                                          \
    return lanes;                                                                                                     \
  }
CUDA_EMU_MATCH(int)
CUDA_EMU_MATCH(unsigned)
CUDA_EMU_MATCH(long)
CUDA_EMU_MATCH(unsigned long)
CUDA_EMU_MATCH(long long)
CUDA_EMU_MATCH(unsigned long long)
CUDA_EMU_MATCH(float)
CUDA_EMU_MATCH(double)
#undef CUDA_EMU_MATCH

inline unsigned __activemask(CUDA_EMU_HERE) { return cuda_emu::converged_lanes({"__activemask", file, line}); }
