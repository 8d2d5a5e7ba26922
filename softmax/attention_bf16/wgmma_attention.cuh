// The products of attention_bf16 03: wgmmas of 64 rows, whose accumulators are Rows' tiles of 8 columns.
#pragma once
#include "attention_bf16_tile.cuh"
#include "hopper.cuh"

// The registers d[0] to d[N / 8 - 1] as operands, and their numbers in the text: 32 for 64 columns, 64 for 128.
#define WGMMA_4(d, j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define WGMMA_16(d, j) WGMMA_4(d, j), WGMMA_4(d, j + 1), WGMMA_4(d, j + 2), WGMMA_4(d, j + 3)
#define WGMMA_64_COLUMNS(d) WGMMA_16(d, 0), WGMMA_16(d, 4)
#define WGMMA_128_COLUMNS(d) WGMMA_64_COLUMNS(d), WGMMA_16(d, 8), WGMMA_16(d, 12)
#define WGMMA_32_NUMBERS                                                   \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_64_NUMBERS                                                               \
  WGMMA_32_NUMBERS                                                                     \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// d = a b, or d += a b where `accumulate`: a is 64 x 16, b 16 x 128, both BF16 in shared memory; a's rows and b's
// columns hold consecutive k (9.7.15.5.2).
__device__ inline void wgmma_m64n128k16_bf16(float (&d)[16][4], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_64_NUMBERS "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
      : WGMMA_128_COLUMNS(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// d += a b: a is 64 x 16 in registers, a warp's 16 rows as the fragment A of mma.sync; b is 16 x 64 or 16 x 128 in
// shared memory, and its rows hold consecutive columns, as the last 1 says.
__device__ inline void wgmma_k16_bf16(float (&d)[8][4], const unsigned (&a)[4], std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WGMMA_32_NUMBERS
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"
      : WGMMA_64_COLUMNS(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline void wgmma_k16_bf16(float (&d)[16][4], const unsigned (&a)[4], std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_64_NUMBERS
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"
      : WGMMA_128_COLUMNS(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// After wgmma_wait: no use of these registers is moved in front of it. The compiler does not know that they change later
// than at the wgmma.
template <int kTiles>
__device__ inline void wgmma_arrived(float (&d)[kTiles][4]) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) asm volatile("" : WGMMA_4(d, j)::"memory");
}

// As mbarrier_wait. But a trap in the kernel makes ptxas (CUDA 13.0) keep to the registers that all threads begin with,
// whatever registers_increase says: then the accumulators spill. Here what never ends is a store to address 0, which
// ends the kernel with an error, too.
__device__ inline void wait_for_phase(Barrier* barrier, unsigned parity) {
  for (unsigned tries = 0; !mbarrier_try_wait(barrier, parity); ++tries) {
    if (tries == 1u << 20) asm volatile("st.global.u32 [%0], 0;\n" ::"l"(std::uint64_t{0}) : "memory");
  }
}

// A tile as TMA brings it: blocks of 64 columns, their rows of 128 bytes swizzled.
template <int kRows, int D>
using Boxes = __nv_bfloat16[D / 64][kRows][64];
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

// s = Q K^T for 64 queries and the tile's 128 keys; a group of wgmmas.
template <int D>
__device__ inline void multiply_scores(float (&s)[16][4], const Boxes<64, D>& Q, const Boxes<128, D>& K) {
  wgmma_fence();
#pragma unroll
  for (int c = 0; c < D; c += 16) {
    wgmma_m64n128k16_bf16(s, wgmma_descriptor(&Q[c / 64][0][c % 64], 0, kGroupOfRows),
                          wgmma_descriptor(&K[c / 64][0][c % 64], 0, kGroupOfRows), c > 0);
  }
  wgmma_commit();
}

// o += P V; a group of wgmmas.
template <int D>
__device__ inline void multiply_values(float (&o)[D / 8][4], const unsigned (&p)[8][4], const Boxes<128, D>& V) {
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    wgmma_k16_bf16(o, p[j], wgmma_descriptor(&V[0][j * 16][0], sizeof(V[0]), kGroupOfRows));
  }
  wgmma_commit();
}
