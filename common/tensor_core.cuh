// Wrappers for tensor-core and copy instructions that CUDA C++ has no function for, sm_80 and later. Sections are those
// of the PTX ISA manual, version 9.0. All 32 lanes of a warp must call them together, except cp_async*.
#pragma once
#include <cuda_runtime.h>

#ifdef CUDA_EMU
#include "cuda_emu/tensor_core.hpp"  // the same functions for the CPU backend
#else

// ldmatrix, section 9.7.14.5.15. Lane 8 i + r passes the address of row r of matrix i in shared memory: 8 elements of
// 16 bits, 16-byte aligned. Lane l receives elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of each matrix.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&matrices)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

// The same with .trans: lane l receives elements 2 (l % 4) and 2 (l % 4) + 1 of column l / 4 of each matrix.
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&matrices)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// mma.sync.m16n8k16 on BF16, section 9.7.14.5.8: d += a b, d is 16 x 8 in FP32, a 16 x 16 and b 16 x 8. With
// g = lane / 4 and t = lane % 4, a lane holds
//   d[0], d[1]: row g, columns 2 t and 2 t + 1;  d[2], d[3]: the same of row g + 8
//   a[0]: row g, columns 2 t and 2 t + 1;  a[1]: of row g + 8;  a[2], a[3]: the same 8 columns to the right
//   b0: rows 2 t and 2 t + 1 of column g;  b1: 8 rows below
// The element with the lower index is in the lower half of a register.
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// mma.sync.m16n8k8 on TF32, section 9.7.14.5.7: d += a b, d is 16 x 8 in FP32, a 16 x 8 and b 8 x 8. The registers of a
// and b are FP32 numbers whose low 13 bits the tensor core ignores. With g and t as above, d as above, a lane holds
//   a[0]: row g, column t;  a[1]: row g + 8;  a[2]: row g, column t + 4;  a[3]: row g + 8, column t + 4
//   b0: row t of column g;  b1: row t + 4
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// cp.async, section 9.7.9.25.3.1: copies `bytes` bytes, 0 to 16, from global to shared memory, bypassing registers and
// L1, and fills up to 16 bytes with zeros. Both addresses must be 16-byte aligned. __pipeline_memcpy_async does the
// same, but with a branch for each number of bytes if that is not a constant.
__device__ __forceinline__ void cp_async_16(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
                 "r"(bytes)
               : "memory");
}

// cp.async.commit_group, section 9.7.9.25.3.2: makes a group, possibly empty, of this thread's copies since the last.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }

// cp.async.wait_group, section 9.7.9.25.3.3: waits until all but the last kGroups groups of this thread are done. Other
// threads' copies are visible after the next barrier.
template <int kGroups>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kGroups) : "memory");
}

#else
// any_shape programs are also compiled for older GPUs, where they launch no kernel that calls these.
__device__ inline void mma_m16n8k16_bf16(float (&)[4], const unsigned (&)[4], unsigned, unsigned) { __trap(); }
__device__ inline void mma_m16n8k8_tf32(float (&)[4], const unsigned (&)[4], unsigned, unsigned) { __trap(); }
__device__ inline void cp_async_16(void*, const void*, int) { __trap(); }
__device__ inline void cp_async_commit() { __trap(); }
template <int kGroups>
__device__ inline void cp_async_wait() {
  __trap();
}
#endif  // sm_80
#endif
