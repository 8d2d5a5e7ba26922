// The instructions of sm_90a that CUDA C++ has no function for, a function each. The section is the PTX manual's
// (PTX ISA 9.0). Shared memory is given by pointers, and by its 32-bit address only inside.
#pragma once
#include "ladder.cuh"

#include <cuda.h>  // CUtensorMap; nothing of libcuda is linked

#include <cstdint>

// The address of `p` in the shared window, as the instructions want it.
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// ---- mbarrier: arrivals and bytes are counted, phase by phase (9.7.13.15) ----

using Barrier = std::uint64_t;

// A phase ends when `arrivals` have arrived and all bytes expected have come (9.7.13.15.9).
__device__ inline void mbarrier_init(Barrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// What was initialised is seen by the other blocks of the cluster and by the copy engine (9.7.13.4).
__device__ inline void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
// One arrival (9.7.13.15.13).
__device__ inline void mbarrier_arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
}
// One arrival at the same barrier of block `rank` of the cluster (9.7.9.23 for mapa).
__device__ inline void mbarrier_arrive_at(Barrier* barrier, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}
// One arrival, and `bytes` more that copies will bring in this phase.
__device__ inline void mbarrier_arrive_expect(Barrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
// Has the phase of this parity, 0 or 1, ended? Waits for it a while (9.7.13.15.16).
__device__ inline bool mbarrier_try_wait(Barrier* barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done;
}
// Waits until the phase of this parity has ended. What never ends is a mistake in the program: then the kernel ends
// with an error after some seconds instead of never.
__device__ inline void mbarrier_wait(Barrier* barrier, unsigned parity) {
  for (unsigned tries = 0; !mbarrier_try_wait(barrier, parity); ++tries) {
    if (tries == 1u << 20) __trap();  // a try takes some 4 us on an H200
  }
}

// ---- Clusters ----

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}
// Waits for all threads of the cluster; they see each other's shared memory then (9.7.13.3).
__device__ inline void cluster_sync() {
  __syncwarp();  // "aligned": a warp comes here as one
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// Its two halves, once each in turn: between them a thread may do what the others need not wait for.
__device__ inline void cluster_arrive() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
}
__device__ inline void cluster_wait() {
  __syncwarp();
  asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
// Where block `rank` of the cluster has what `p` is here, in shared memory (9.7.9.23).
template <typename T>
__device__ inline T* in_block(T* p, unsigned rank) {
  T* there;
  asm("mapa.u64 %0, %1, %2;\n" : "=l"(there) : "l"(p), "r"(rank));
  return there;
}

// ---- TMA: a box of a matrix is copied by the copy engine (9.7.9.27) ----

// The box at (column, row) comes to `to`, which is 128-byte aligned (1024 where it is swizzled); its bytes count at
// `barrier`. What lies outside the matrix comes as zeros.
__device__ inline void tma_load(void* to, const CUtensorMap* map, unsigned column, unsigned row, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(
          shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}
// The same box for each block of the cluster whose bit is set in `blocks`, at the same place and barrier of each.
__device__ inline void tma_load_multicast(void* to, const CUtensorMap* map, unsigned column, unsigned row,
                                          Barrier* barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}
// The box at `from` goes to (column, row) of the matrix; what lies outside is not written.
__device__ inline void tma_store(const void* from, const CUtensorMap* map, unsigned column, unsigned row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n" ::"l"(map), "r"(column),
               "r"(row), "r"(shared_address(from))
               : "memory");
}
// The stores of this thread so far are a group; waits until all but the last kPending groups have read their boxes.
__device__ inline void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ inline void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(kPending) : "memory");
}
// What this thread wrote to shared memory is seen by the copy engine and the tensor cores (9.7.13.4).
__device__ inline void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

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
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
// The wgmmas so far are a group; waits until all but the last kPending groups are done (9.7.15.7.2, 9.7.15.7.3).
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}

// The accumulators of a thread, 64 or 128, in the text of an instruction and as its operands.
#define WGMMA_REGISTERS_64                                                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
  "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
  "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, " \
  "%58, %59, %60, %61, %62, %63"
#define WGMMA_REGISTERS_128                                                  \
  WGMMA_REGISTERS_64                                                         \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75"             \
  ", %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87"             \
  ", %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99"             \
  ", %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123" \
  ", %124, %125, %126, %127"
#define WGMMA_ACCUMULATORS_64(d)                                                                              \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),  \
      "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), \
      "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), \
      "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
      "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), \
      "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), \
      "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define WGMMA_ACCUMULATORS_128(d)                                                                                      \
  WGMMA_ACCUMULATORS_64(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
      "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]),          \
      "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]),          \
      "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]),          \
      "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]),       \
      "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]),  \
      "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),  \
      "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]),  \
      "+f"(d[127])

// d = a b, or d += a b where `accumulate`: a is 64 x 16, b 16 x 256, both BF16 in shared memory and given by their
// descriptors, d FP32 (9.7.15.5.2). a's rows hold consecutive k; b's rows, consecutive columns, as the last 1 says.
__device__ inline void wgmma_m64n256k16_bf16(float (&d)[128], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_REGISTERS_128 "}, %128, %129, p, 1, 1, 0, 1;\n}\n"
      : WGMMA_ACCUMULATORS_128(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// The same, b 16 x 128.
__device__ inline void wgmma_m64n128k16_bf16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_REGISTERS_64 "}, %64, %65, p, 1, 1, 0, 1;\n}\n"
      : WGMMA_ACCUMULATORS_64(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// The same for TF32: a is 64 x 8 in registers, of which each thread holds four: rows l / 4 and l / 4 + 8 of its warp's
// 16, first of column l % 4, then of column l % 4 + 4, where l is its lane (9.7.15.5.1). b is 8 x 256 in shared memory;
// its columns hold consecutive k: TF32 knows no other way. Bits below TF32's are cut off.
__device__ inline void wgmma_m64n256k8_tf32(float (&d)[128], const float (&a)[4], std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" WGMMA_REGISTERS_128
      "}, {%128, %129, %130, %131}, %132, p, 1, 1;\n}\n"
      : WGMMA_ACCUMULATORS_128(d)
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "l"(b), "r"(static_cast<int>(accumulate)));
}

// The same, b 8 x 128.
__device__ inline void wgmma_m64n128k8_tf32(float (&d)[64], const float (&a)[4], std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" WGMMA_REGISTERS_64
      "}, {%64, %65, %66, %67}, %68, p, 1, 1;\n}\n"
      : WGMMA_ACCUMULATORS_64(d)
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "l"(b), "r"(static_cast<int>(accumulate)));
}

// ---- Warp specialisation ----

// This warpgroup gives registers back, or waits for as many as it wants (9.7.19.5).
template <int kRegisters>
__device__ inline void registers_decrease() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void registers_increase() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
// A barrier of kThreads threads; `id` 0 is __syncthreads()'s (9.7.13.1).
template <int kThreads>
__device__ inline void named_barrier(int id) {
  __syncwarp();  // as for cluster_sync()
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}
// This warp arrives there, and does not wait.
template <int kThreads>
__device__ inline void named_barrier_arrive(int id) {
  __syncwarp();
  asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements from the fragments of a warp: lane l gives the address of row l % 8 of matrix
// l / 8 (9.7.14.5.16).
__device__ inline void stmatrix_x4(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared_address(row)), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}
