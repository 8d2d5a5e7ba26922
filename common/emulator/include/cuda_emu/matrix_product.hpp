// What tensor cores do, for mma.h and tensor_core.hpp: all lanes of a warp hand in their fragments, and the last one to
// arrive computes.
#pragma once

#include "device.hpp"
#include "warp.hpp"

namespace cuda_emu {

// One lane's part. All lanes call with the same `evaluate`, whose argument has the parts of lanes 0 to 31.
struct Fragments {
  void (*evaluate)(Fragments* const* lanes);
};

inline void meet_all_lanes(Fragments& part, const Where& where) {
  std::uint64_t address = 0;
  Fragments* const pointer = &part;
  std::memcpy(&address, &pointer, sizeof pointer);
  collective(WarpOp::fragments, 0xffffffffu, address, 0, warpSize, where);
}

// How a tensor core adds: all terms are cut off at the same place, so that the largest keeps `term` bits, and the sum is
// cut off to `sum` bits. An H200 does so with 26 and 24 bits (tests/tensor_core.cu); in FP8, Ada's mma.sync and Hopper's
// wgmma have 14 and 14 according to reports (tests/fp8.cu).
struct KeptBits {
  int term, sum;
};
constexpr KeptBits kBitsOfFloat = {26, 24}, kBitsInFp8 = {14, 14};

// D += A B, row-major, A is m x k, B is k x n, as a tensor core computes it: `group` exact products and the element of D
// are added at once.
void multiply_on_tensor_core(int m, int n, int k, int group, const float* A, const float* B, float* D,
                             KeptBits kept = kBitsOfFloat);

// Fails unless `memory` is a multiple of `alignment` bytes, for reasons of the operation at `where`.
void require_alignment(const void* memory, std::size_t alignment, const Where& where);
void require_shared(const void* memory, std::size_t size, const Where& where);

#ifdef CUDA_EMU_TRACE
void trace_load(const void* memory, std::size_t size, const void* return_address);
void trace_store(const void* memory, std::size_t size, const void* return_address);
#endif

}  // namespace cuda_emu
