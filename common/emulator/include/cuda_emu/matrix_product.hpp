// Emulated tensor cores, for mma.h and tensor_core.hpp. All lanes of a warp pass their fragments, and the last one to
// arrive computes.
#pragma once

#include "device.hpp"
#include "warp.hpp"

namespace cuda_emu {

// One lane's part. All lanes must pass the same `evaluate`; its argument points to the parts of lanes 0 to 31.
struct Fragments {
  void (*evaluate)(Fragments* const* lanes);
};

inline void meet_all_lanes(Fragments& part, const Where& where) {
  std::uint64_t address = 0;
  Fragments* const pointer = &part;
  std::memcpy(&address, &pointer, sizeof pointer);
  collective(WarpOp::fragments, 0xffffffffu, address, 0, warpSize, where);
}

// The precision of a tensor core's sum. All terms are truncated at the same bit position, at which the largest keeps
// `term` bits; the sum is truncated to `sum` bits. An H200 keeps 26 and 24 bits (tests/tensor_core.cu). In FP8, Ada's
// mma.sync and Hopper's wgmma keep 14 and 14, according to reports (tests/fp8.cu).
struct KeptBits {
  int term, sum;
};
constexpr KeptBits kBitsOfFloat = {26, 24}, kBitsInFp8 = {14, 14};

// Computes D += A B as a tensor core does: `group` exact products and the element of D are added at once. A is m x k, B
// is k x n, all row-major.
void multiply_on_tensor_core(int m, int n, int k, int group, const float* A, const float* B, float* D,
                             KeptBits kept = kBitsOfFloat);

// Fails the launch, naming the operation `where`, unless the address is a multiple of `alignment`.
void require_alignment(const void* memory, std::size_t alignment, const Where& where);
void require_shared(const void* memory, std::size_t size, const Where& where);

#ifdef CUDA_EMU_TRACE
void trace_load(const void* memory, std::size_t size, const void* return_address);
void trace_store(const void* memory, std::size_t size, const void* return_address);
#endif

}  // namespace cuda_emu
