// The instructions of sm_90a that CUDA C++ has no function for, a function each. The section is the PTX manual's
// (PTX ISA 9.0). Shared memory is given by pointers, and by its 32-bit address only inside.
#pragma once
#include "ladder.cuh"

#include <cuda.h>  // CUtensorMap; nothing of libcuda is linked

#include <cstdint>

// In a program for any GPU, what is compiled for one that lacks an instruction has a trap in its place: it must not be
// launched there. Clusters, mbarriers and TMA are there from sm_90 on; wgmma and setmaxnreg on sm_90a alone, and multicast
// should not be used elsewhere.
__host__ __device__ constexpr bool compiles_for_sm90() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  return true;
#else
  return false;
#endif
}
__host__ __device__ constexpr bool compiles_for_sm90a() {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  return true;
#else
  return false;
#endif
}
#define SM90_ASM(...)                \
  if constexpr (compiles_for_sm90()) \
    asm volatile(__VA_ARGS__);       \
  else                               \
    __trap()
#define SM90A_ASM(...)                \
  if constexpr (compiles_for_sm90a()) \
    asm volatile(__VA_ARGS__);        \
  else                                \
    __trap()

// The address of `p` in the shared window, as the instructions want it.
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// ---- mbarrier: arrivals and bytes are counted, phase by phase (9.7.13.15) ----

using Barrier = std::uint64_t;

// A phase ends when `arrivals` have arrived and all bytes expected have come (9.7.13.15.9).
__device__ inline void mbarrier_init(Barrier* barrier, unsigned arrivals) {
  SM90_ASM("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// What was initialised is seen by the other blocks of the cluster and by the copy engine (9.7.13.4).
__device__ inline void mbarrier_init_fence() {
  SM90_ASM("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  SM90_ASM("fence.proxy.async.shared::cta;\n" ::: "memory");
}
// One arrival (9.7.13.15.13).
__device__ inline void mbarrier_arrive(Barrier* barrier) {
  SM90_ASM("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
}
// One arrival at the same barrier of block `rank` of the cluster (9.7.9.23 for mapa).
__device__ inline void mbarrier_arrive_at(Barrier* barrier, unsigned rank) {
  SM90_ASM(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}
// One arrival, and `bytes` more that copies will bring in this phase.
__device__ inline void mbarrier_arrive_expect(Barrier* barrier, unsigned bytes) {
  SM90_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(bytes)
           : "memory");
}
// Has the phase of this parity, 0 or 1, ended? Waits for it a while (9.7.13.15.16).
__device__ inline bool mbarrier_try_wait(Barrier* barrier, unsigned parity) {
  unsigned done = 0;
  SM90_ASM(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done;
}
// Waits until the phase of this parity has ended. A phase that never ends is a mistake in the program: after some seconds
// the kernel ends with an error (a store to address 0). A __trap() would do, but where a kernel has one, ptxas (CUDA
// 13.0) keeps to the registers that all threads begin with, whatever registers_increase says, and may spill.
__device__ inline void mbarrier_wait(Barrier* barrier, unsigned parity) {
  for (unsigned tries = 0; !mbarrier_try_wait(barrier, parity); ++tries) {
    if (tries == 1u << 20) asm volatile("st.global.u32 [%0], 0;\n" ::"l"(std::uint64_t{0}) : "memory");  // 4 us a try
  }
}

// ---- Clusters ----

__device__ inline unsigned cluster_rank() {
  unsigned rank = 0;
  SM90_ASM("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}
// Waits for all threads of the cluster; they see each other's shared memory then (9.7.13.3).
__device__ inline void cluster_sync() {
  __syncwarp();  // "aligned": a warp comes here as one
  SM90_ASM("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// Its two halves, once each in turn: between them a thread may do what the others need not wait for.
__device__ inline void cluster_arrive() {
  __syncwarp();
  SM90_ASM("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
}
__device__ inline void cluster_wait() {
  __syncwarp();
  SM90_ASM("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// Where block `rank` of the cluster has what `p` is here, in shared memory (9.7.9.23).
template <typename T>
__device__ inline T* in_block(T* p, unsigned rank) {
  T* there = p;
  SM90_ASM("mapa.u64 %0, %1, %2;\n" : "=l"(there) : "l"(p), "r"(rank));
  return there;
}

// ---- TMA: a box of a matrix is copied by the copy engine (9.7.9.27) ----

// The box at (column, row) comes to `to`, which is 128-byte aligned (1024 where it is swizzled); its bytes count at
// `barrier`. What lies outside the matrix comes as zeros.
__device__ inline void tma_load(void* to, const CUtensorMap* map, unsigned column, unsigned row, Barrier* barrier) {
  SM90_ASM(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(
          shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}
// The same box for each block of the cluster whose bit is set in `blocks`, at the same place and barrier of each.
__device__ inline void tma_load_multicast(void* to, const CUtensorMap* map, unsigned column, unsigned row,
                                          Barrier* barrier, std::uint16_t blocks) {
  SM90A_ASM(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}
// The box at `from` goes to (column, row) of the matrix; what lies outside is not written.
__device__ inline void tma_store(const void* from, const CUtensorMap* map, unsigned column, unsigned row) {
  SM90_ASM("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n" ::"l"(map), "r"(column),
           "r"(row), "r"(shared_address(from))
           : "memory");
}
// The stores of this thread so far are a group; waits until all but the last kPending groups have read their boxes.
__device__ inline void tma_store_commit() { SM90_ASM("cp.async.bulk.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ inline void tma_store_wait_read() {
  SM90_ASM("cp.async.bulk.wait_group.read %0;\n" ::"n"(kPending) : "memory");
}
// What this thread wrote to shared memory is seen by the copy engine and the tensor cores (9.7.13.4).
__device__ inline void fence_async_proxy() { SM90_ASM("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// Dynamic shared memory from the next address on to which TMA's swizzle may be applied.
constexpr int kSwizzleAlignment = 1024;
template <typename T>
__device__ inline T& swizzle_aligned(unsigned char* memory) {
  return *reinterpret_cast<T*>(memory + (-shared_address(memory)) % kSwizzleAlignment);
}

// ---- wgmma: four warps multiply a tile, asynchronously (9.7.15) ----

// A matrix in shared memory, swizzled as TMA's 128-byte mode does (9.7.15.5.1.2): rows of 128 bytes, in groups of 8
// that are `group` bytes apart. `row_block` counts only where a row is not along k: the next 64 columns of BF16 are as
// many bytes away.
__device__ inline std::uint64_t wgmma_descriptor(const void* tile, unsigned row_block, unsigned group) {
  return (static_cast<std::uint64_t>(1) << 62) | (static_cast<std::uint64_t>(group >> 4) << 32) |
         (static_cast<std::uint64_t>(row_block >> 4) << 16) | ((shared_address(tile) & 0x3ffff) >> 4);
}
// Before the first wgmma, and wherever other instructions touched its registers since (9.7.15.7.1).
__device__ inline void wgmma_fence() { SM90A_ASM("wgmma.fence.sync.aligned;\n" ::: "memory"); }
// The wgmmas so far are a group (9.7.15.7.2).
__device__ inline void wgmma_commit() { SM90A_ASM("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
// Waits until all but the last kPending groups are done (9.7.15.7.3). `d` are the accumulators that are read next, or that
// the pending wgmmas go on with: for the compiler they change here, so it moves no use of them before the wait.
template <int kPending, int kCount>
__device__ inline void wgmma_wait(float (&d)[kCount]) {
  SM90A_ASM("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
// Accumulators in tiles of 8 columns, d[j] as mma.sync's, as the list that wgmma wants.
template <int kTiles>
__device__ inline float (&wgmma_list(float (&d)[kTiles][4]))[4 * kTiles] {
  return reinterpret_cast<float(&)[4 * kTiles]>(d);
}

// The accumulators of a thread, 32, 64 or 128, in the text of an instruction and as its operands.
#define WGMMA_TEXT_32                                                    \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_TEXT_64                                                                \
  WGMMA_TEXT_32                                                                      \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_TEXT_128                                                                           \
  WGMMA_TEXT_64                                                                                  \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"             \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"             \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WGMMA_D4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_D16(d, i) WGMMA_D4(d, i), WGMMA_D4(d, i + 4), WGMMA_D4(d, i + 8), WGMMA_D4(d, i + 12)
#define WGMMA_D32(d) WGMMA_D16(d, 0), WGMMA_D16(d, 16)
#define WGMMA_D64(d) WGMMA_D32(d), WGMMA_D16(d, 32), WGMMA_D16(d, 48)
#define WGMMA_D128(d) WGMMA_D64(d), WGMMA_D16(d, 64), WGMMA_D16(d, 80), WGMMA_D16(d, 96), WGMMA_D16(d, 112)

// d = a b, or d += a b where `accumulate` (9.7.15.5.2). d is FP32, 64 rows: a warp has 16 of them, laid out as mma.sync's
// accumulators, for each 8 columns d[0], d[1] in row lane / 4 and d[2], d[3] eight rows below. Operands in shared memory
// are given by their descriptors; the rows of a hold consecutive k. The end of a name says how b lies there:
//   _kn  b is row-major, k x n: its rows hold consecutive columns
//   _nk  b is column-major: its "rows" are columns, and hold consecutive k, as those of a
// _ra: a is in registers, a warp's 16 rows as the fragment A of mma.sync.
__device__ inline void wgmma_m64n256k16_bf16_kn(float (&d)[128], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_TEXT_128 "}, %128, %129, p, 1, 1, 0, 1;\n}\n"
      : WGMMA_D128(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void wgmma_m64n128k16_bf16_kn(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_TEXT_64 "}, %64, %65, p, 1, 1, 0, 1;\n}\n"
      : WGMMA_D64(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void wgmma_m64n128k16_bf16_nk(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_TEXT_64 "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
      : WGMMA_D64(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void wgmma_m64n64k16_bf16_ra_kn(float (&d)[32], const unsigned (&a)[4], std::uint64_t b,
                                                  bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WGMMA_TEXT_32
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"
      : WGMMA_D32(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void wgmma_m64n128k16_bf16_ra_kn(float (&d)[64], const unsigned (&a)[4], std::uint64_t b,
                                                   bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_TEXT_64
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"
      : WGMMA_D64(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

// TF32 knows no _kn. Of a, 64 x 8, a thread holds rows lane / 4 and lane / 4 + 8 of column lane % 4, then of column
// lane % 4 + 4. Bits below TF32's are cut off.
__device__ inline void wgmma_m64n256k8_tf32_ra_nk(float (&d)[128], const float (&a)[4], std::uint64_t b,
                                                  bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" WGMMA_TEXT_128
      "}, {%128, %129, %130, %131}, %132, p, 1, 1;\n}\n"
      : WGMMA_D128(d)
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void wgmma_m64n128k8_tf32_ra_nk(float (&d)[64], const float (&a)[4], std::uint64_t b,
                                                  bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" WGMMA_TEXT_64
      "}, {%64, %65, %66, %67}, %68, p, 1, 1;\n}\n"
      : WGMMA_D64(d)
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "l"(b), "r"(static_cast<int>(accumulate)));
}

// ---- Warp specialisation ----

// This warpgroup gives registers back, or waits for as many as it wants (9.7.19.5).
template <int kRegisters>
__device__ inline void registers_decrease() {
  SM90A_ASM("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void registers_increase() {
  SM90A_ASM("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
// A barrier of kThreads threads; `id` 0 is __syncthreads()'s (9.7.13.1).
template <int kThreads>
__device__ inline void named_barrier(int id) {
  __syncwarp();  // as for cluster_sync()
  SM90_ASM("bar.sync %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}
// This warp arrives there, and does not wait.
template <int kThreads>
__device__ inline void named_barrier_arrive(int id) {
  __syncwarp();
  SM90_ASM("bar.arrive %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements from the fragments of a warp: lane l gives the address of row l % 8 of matrix
// l / 8 (9.7.14.5.16).
__device__ inline void stmatrix_x4(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  SM90_ASM("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared_address(row)), "r"(a),
           "r"(b), "r"(c), "r"(d)
           : "memory");
}
