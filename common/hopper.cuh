// Wrappers for sm_90a instructions that CUDA C++ has no function for. Numbers in brackets are sections of the PTX ISA
// manual, version 9.0. Shared memory is passed as generic pointers.
#pragma once
#include "ladder.cuh"

#include <cuda.h>  // CUtensorMap; nothing of libcuda is linked

#include <cstdint>

// When compiled for a GPU that lacks the instruction, a wrapper contains a trap: such a kernel must not be launched
// there. Clusters, mbarriers and TMA need sm_90; wgmma, setmaxnreg and (for speed) multicast need sm_90a.
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

// Returns the 32-bit address of `p` in the shared state space.
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// ---- mbarrier (9.7.13.15) ----

using Barrier = std::uint64_t;

// Each phase completes after `arrivals` arrivals and all expected bytes (9.7.13.15.9).
__device__ inline void mbarrier_init(Barrier* barrier, unsigned arrivals) {
  SM90_ASM("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// Makes initialised barriers visible to the other blocks of the cluster and to TMA (9.7.13.4).
__device__ inline void mbarrier_init_fence() {
  SM90_ASM("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  SM90_ASM("fence.proxy.async.shared::cta;\n" ::: "memory");
}
// Arrives once (9.7.13.15.13).
__device__ inline void mbarrier_arrive(Barrier* barrier) {
  SM90_ASM("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
}
// Arrives once at the same barrier in block `rank` of the cluster (mapa: 9.7.9.23).
__device__ inline void mbarrier_arrive_at(Barrier* barrier, unsigned rank) {
  SM90_ASM(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}
// Arrives once, and adds `bytes` to those that copies must deliver in this phase.
__device__ inline void mbarrier_arrive_expect(Barrier* barrier, unsigned bytes) {
  SM90_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(bytes)
           : "memory");
}
// Waits a limited time for the phase of this parity, 0 or 1. Returns true if it has completed (9.7.13.15.16).
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
// Waits for the phase of this parity. If it does not complete within seconds, the kernel stops with an error (a store
// to address 0) instead of hanging. It is no __trap(), because then ptxas (CUDA 13.0) ignores registers_increase and
// may spill.
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
// Waits for all threads of the cluster, and makes their writes to shared memory visible to each other (9.7.13.3).
__device__ inline void cluster_sync() {
  __syncwarp();  // .aligned: all lanes must execute it together
  SM90_ASM("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// The two halves of cluster_sync(), called alternately. Between them a thread can do independent work.
__device__ inline void cluster_arrive() {
  __syncwarp();
  SM90_ASM("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
}
__device__ inline void cluster_wait() {
  __syncwarp();
  SM90_ASM("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// Returns the address, in block `rank` of the cluster, of the shared variable that `p` points to in this block
// (9.7.9.23).
template <typename T>
__device__ inline T* in_block(T* p, unsigned rank) {
  T* there = p;
  SM90_ASM("mapa.u64 %0, %1, %2;\n" : "=l"(there) : "l"(p), "r"(rank));
  return there;
}

// ---- TMA: copies of boxes of a matrix (9.7.9.27) ----

// Starts to load the box at (column, row) into `to`, which must be 128-byte aligned (1024 if swizzled). Its bytes count
// at `barrier`. Elements outside the matrix are loaded as zeros.
__device__ inline void tma_load(void* to, const CUtensorMap* map, unsigned column, unsigned row, Barrier* barrier) {
  SM90_ASM(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(
          shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}
// The same for every block of the cluster whose bit in `blocks` is set, into the same variable and barrier of each.
__device__ inline void tma_load_multicast(void* to, const CUtensorMap* map, unsigned column, unsigned row,
                                          Barrier* barrier, std::uint16_t blocks) {
  SM90A_ASM(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}
// Starts to store the box at `from` to (column, row). Elements outside the matrix are not written.
__device__ inline void tma_store(const void* from, const CUtensorMap* map, unsigned column, unsigned row) {
  SM90_ASM("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n" ::"l"(map), "r"(column),
           "r"(row), "r"(shared_address(from))
           : "memory");
}
// commit: makes a group of this thread's stores so far. wait_read: waits until all but the last kPending groups have
// read their boxes, so that these can be overwritten.
__device__ inline void tma_store_commit() { SM90_ASM("cp.async.bulk.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ inline void tma_store_wait_read() {
  SM90_ASM("cp.async.bulk.wait_group.read %0;\n" ::"n"(kPending) : "memory");
}
// Makes this thread's writes to shared memory visible to TMA and wgmma (9.7.13.4).
__device__ inline void fence_async_proxy() { SM90_ASM("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// Returns dynamic shared memory from the next multiple of 1024 on, the alignment of TMA's 128-byte swizzle.
constexpr int kSwizzleAlignment = 1024;
template <typename T>
__device__ inline T& swizzle_aligned(unsigned char* memory) {
  return *reinterpret_cast<T*>(memory + (-shared_address(memory)) % kSwizzleAlignment);
}

// ---- wgmma: four warps multiply a tile, asynchronously (9.7.15) ----

// Returns the descriptor of a matrix in shared memory with TMA's 128-byte swizzle (9.7.15.5.1.2): rows of 128 bytes, in
// groups of 8 that are `group` bytes apart. `row_block` is used only if rows do not run along k: the distance in bytes
// to the next 64 columns (BF16).
__device__ inline std::uint64_t wgmma_descriptor(const void* tile, unsigned row_block, unsigned group) {
  return (static_cast<std::uint64_t>(1) << 62) | (static_cast<std::uint64_t>(group >> 4) << 32) |
         (static_cast<std::uint64_t>(row_block >> 4) << 16) | ((shared_address(tile) & 0x3ffff) >> 4);
}
// Needed before the first wgmma, and after other instructions have accessed its registers (9.7.15.7.1).
__device__ inline void wgmma_fence() { SM90A_ASM("wgmma.fence.sync.aligned;\n" ::: "memory"); }
// Makes a group of the wgmmas so far (9.7.15.7.2).
__device__ inline void wgmma_commit() { SM90A_ASM("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
// Waits until all but the last kPending groups are done (9.7.15.7.3). `d`: the accumulators that are read next or that
// pending wgmmas use. The empty asm tells the compiler that they change here, so it moves no use of them before the
// wait.
template <int kPending, int kCount>
__device__ inline void wgmma_wait(float (&d)[kCount]) {
  SM90A_ASM("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
// Reinterprets accumulators in tiles of 8 columns, each laid out as mma.sync's, as wgmma's flat list.
template <int kTiles>
__device__ inline float (&wgmma_list(float (&d)[kTiles][4]))[4 * kTiles] {
  return reinterpret_cast<float(&)[4 * kTiles]>(d);
}

// 32, 64 or 128 accumulators per thread: the text in an instruction (TEXT), and its operands (D).
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

// d = a b, or d += a b if `accumulate` (9.7.15.5.2). d is FP32 with 64 rows, 16 per warp, laid out as mma.sync's
// accumulators: for each 8 columns d[0], d[1] are in row lane / 4, and d[2], d[3] eight rows below. Operands in shared
// memory are given by descriptors; rows of a run along k. Suffixes:
//   _kn  b is row-major k x n: its rows run along n
//   _nk  b is stored as n x k: its rows run along k, as those of a
//   _ra  a is in registers: each warp's 16 rows are a fragment A of mma.sync
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

// TF32 has no _kn. Of its warp's 16 rows of a, a lane holds rows lane / 4 and lane / 4 + 8 of column lane % 4, then of
// column lane % 4 + 4. The hardware ignores the low 13 bits.
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

// Sets the registers per thread of this warpgroup. increase waits until enough have been released (9.7.19.5).
template <int kRegisters>
__device__ inline void registers_decrease() {
  SM90A_ASM("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void registers_increase() {
  SM90A_ASM("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
// A barrier for kThreads threads. `id` 0 is the barrier of __syncthreads() (9.7.13.1).
template <int kThreads>
__device__ inline void named_barrier(int id) {
  __syncwarp();  // as for cluster_sync()
  SM90_ASM("bar.sync %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}
// Arrives at the barrier without waiting.
template <int kThreads>
__device__ inline void named_barrier_arrive(int id) {
  __syncwarp();
  SM90_ASM("bar.arrive %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

// Stores four 8 x 8 matrices of 16-bit elements from a warp's fragments. Lane l passes the address of row l % 8 of
// matrix l / 8 (9.7.14.5.16).
__device__ inline void stmatrix_x4(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  SM90_ASM("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared_address(row)), "r"(a),
           "r"(b), "r"(c), "r"(d)
           : "memory");
}
