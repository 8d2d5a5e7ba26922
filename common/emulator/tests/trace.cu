// Access patterns with known costs (those of `patterns` were also measured on an H100 with Nsight Compute), and
// accesses that race or only seem to.
#include "catch.hpp"
#include "cooperative_groups.h"
#include "cuda_emu/report.hpp"
#include "cuda_emu/trace.hpp"
#include "cuda_helpers.cuh"
#include "cuda_pipeline.h"

#include <cuda/atomic>

#include <cstring>
#include <string>
#include <vector>

namespace cg = cooperative_groups;
namespace trace = cuda_emu::trace;
using trace::Op;
using trace::Space;

namespace {

// Traces launch(), which must make exactly one launch.
template <class Body>
trace::Launch traced(const Body& body) {
  trace::start();
  body();
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  REQUIRE(launches.size() == 1);
  return launches.front();
}

double per_request(const trace::Counts& counts) {
  REQUIRE(counts.requests > 0);
  return static_cast<double>(counts.units) / static_cast<double>(counts.requests);
}

std::string races(const trace::Launch& launch) {
  std::string text;
  for (const trace::Race& race : launch.races) {
    text += std::string(text.empty() ? "" : "; ") + name(race.kind) + " in " + name(race.space) +
            (race.between_blocks ? " between blocks" : "") + ": " + std::to_string(race.first.line.number) + ", " +
            std::to_string(race.second.line.number);
  }
  return text;
}

constexpr int kThreads = 128;
struct Memory {
  DeviceBuffer<float> in{1 << 16}, out{1 << 16};
};

// Copies in[index(thread)] to out[thread].
template <class Index>
__global__ void gather(const float* in, float* out, Index index) {
  const int t = static_cast<int>(threadIdx.x);
  out[t] = in[index(t)];
}

template <class Index>
double sectors_of_load(Index index) {
  const Memory memory;
  const trace::Launch launch = traced([&] { gather<<<1, kThreads>>>(memory.in.get(), memory.out.get(), index); });
  CHECK(launch.total(Space::global, Op::load).requests == kThreads / 32);
  CHECK(per_request(launch.total(Space::global, Op::store)) == 4);
  return per_request(launch.total(Space::global, Op::load));
}

__global__ void copy_float4(const float4* in, float4* out) { out[threadIdx.x] = in[threadIdx.x]; }

// Stores and loads shared[index(thread)], of type T.
template <class T, class Index>
__global__ void through_shared(T* out, Index index) {
  __shared__ T shared[4096 / (sizeof(T) / 4)];
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = T{};
  __syncthreads();
  out[t] = shared[index(t)];
}

template <class T, class Index>
double wavefronts_of_load(Index index) {
  const Memory memory;
  const trace::Launch launch =
      traced([&] { through_shared<<<1, kThreads>>>(reinterpret_cast<T*>(memory.out.get()), index); });
  CHECK(launch.total(Space::shared, Op::load).requests == kThreads / 32);
  return per_request(launch.total(Space::shared, Op::load));
}

}  // namespace

TEST_CASE("sectors") {
  CHECK(sectors_of_load([](int t) { return t; }) == 4);
  CHECK(sectors_of_load([](int t) { return t + 1; }) == 5);
  CHECK(sectors_of_load([](int t) { return 2 * t; }) == 8);
  CHECK(sectors_of_load([](int t) { return 32 * t; }) == 32);
  CHECK(sectors_of_load([](int) { return 7; }) == 1);
  CHECK(sectors_of_load([](int t) { return kThreads - 1 - t; }) == 4);

  const Memory memory;
  const trace::Launch launch = traced([&] {
    copy_float4<<<1, kThreads>>>(reinterpret_cast<float4*>(memory.in.get()),
                                 reinterpret_cast<float4*>(memory.out.get()));
  });
  for (const Op op : {Op::load, Op::store}) {
    const trace::Counts counts = launch.total(Space::global, op);
    CHECK(counts.requests == kThreads / 32);
    CHECK(per_request(counts) == 16);
    CHECK(counts.ideal == counts.units);
    CHECK(counts.bytes_requested == 16 * kThreads);
    CHECK(counts.bytes_moved == 16 * kThreads);
  }
}

TEST_CASE("wavefronts") {
  CHECK(wavefronts_of_load<float>([](int t) { return t; }) == 1);
  CHECK(wavefronts_of_load<float>([](int t) { return 2 * t; }) == 2);
  CHECK(wavefronts_of_load<float>([](int t) { return 32 * (t % 32); }) == 32);
  CHECK(wavefronts_of_load<float>([](int t) { return 33 * (t % 32); }) == 1);
  CHECK(wavefronts_of_load<float>([](int) { return 5; }) == 1);  // a broadcast
  CHECK(wavefronts_of_load<float>([](int t) { return t % 32 / 16; }) == 1);
  CHECK(wavefronts_of_load<float2>([](int t) { return t; }) == 2);
  CHECK(wavefronts_of_load<float2>([](int t) { return t / 2; }) == 1);
  CHECK(wavefronts_of_load<float2>([](int t) { return 2 * t; }) == 4);
  CHECK(wavefronts_of_load<float4>([](int t) { return t; }) == 4);
  CHECK(wavefronts_of_load<float4>([](int t) { return t % 8; }) == 4);
  CHECK(wavefronts_of_load<float4>([](int t) { return t / 2; }) == 2);
  CHECK(wavefronts_of_load<float4>([](int t) { return 2 * t; }) == 8);
}

namespace {

__constant__ float weights[64];

__global__ void use_weights(float* out, int stride) { out[threadIdx.x] = weights[threadIdx.x * stride % 64]; }

__global__ void count_all(int* counter) { atomicAdd(counter, 1); }

__global__ void count_in_shared(int* out) {
  __shared__ int counters[4];
  if (threadIdx.x < 4) counters[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counters[threadIdx.x % 4], 1);
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = counters[threadIdx.x];
}

__global__ void third_lanes_skip(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    if ((threadIdx.x + i) % 4 == 3) continue;
    sum += in[i * 32 + threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

__global__ void copy_async(const float* in, float* out) {
  __shared__ float tile[kThreads];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// Adjacent loads, as in a dot product with a tile's row. nvcc merges four of them into one.
__global__ void neighbours(float* out) {
  __shared__ float tile[4 * kThreads];
  for (int i = 0; i < 4; ++i) tile[i * kThreads + threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += tile[4 * threadIdx.x + i];
  out[threadIdx.x] = sum;
}

}  // namespace

TEST_CASE("constants are broadcast") {
  const Memory memory;
  for (const auto& [stride, words] : {std::pair(0, 1u), std::pair(1, 32u)}) {
    const trace::Launch launch = traced([&, stride = stride] { use_weights<<<1, 32>>>(memory.out.get(), stride); });
    REQUIRE(launch.accesses.size() == 2);
    CHECK(launch.accesses[0].space == Space::constant);
    CHECK(launch.accesses[0].worst == words);
  }
}

TEST_CASE("atomics on one address") {
  DeviceBuffer<int> out(4);
  CUDA_CHECK(cudaMemset(out.get(), 0, 4 * sizeof(int)));
  const trace::Launch global = traced([&] { count_all<<<4, kThreads>>>(out.get()); });
  REQUIRE(global.accesses.size() == 1);
  CHECK(global.accesses[0].op == Op::atomic);
  CHECK(global.accesses[0].requests == 4 * kThreads / 32);
  CHECK(global.accesses[0].same_address == 32);
  CHECK(races(global) == "");

  const trace::Launch shared = traced([&] { count_in_shared<<<1, kThreads>>>(out.get()); });
  CHECK(shared.total(Space::shared, Op::atomic).requests == kThreads / 32);
  CHECK(per_request(shared.total(Space::shared, Op::atomic)) == 8);
  CHECK(races(shared) == "");
}

TEST_CASE("lanes that skip a round are back in the next one") {
  const Memory memory;
  const trace::Launch launch = traced([&] { third_lanes_skip<<<1, 32>>>(memory.in.get(), memory.out.get(), 8); });
  const trace::Counts loads = launch.total(Space::global, Op::load);
  CHECK(loads.requests == 8);
  CHECK(loads.lanes == 8 * 24);
  CHECK(per_request(loads) == 4);
  CHECK(launch.divergent_branches == 8);
}

TEST_CASE("an asynchronous copy is a load and a store") {
  const Memory memory;
  const trace::Launch launch = traced([&] { copy_async<<<1, kThreads>>>(memory.in.get(), memory.out.get()); });
  CHECK(launch.total(Space::global, Op::load).requests == kThreads / 32);
  CHECK(launch.total(Space::shared, Op::store).requests == kThreads / 32);
  for (const trace::Access& access : launch.accesses) {
    const bool by_copy = (access.space == Space::global) == (access.op == Op::load);
    CHECK(access.async == by_copy);
  }
}

TEST_CASE("neighbouring loads are one to nvcc") {
  const Memory memory;
  const trace::Launch launch = traced([&] { neighbours<<<1, kThreads>>>(memory.out.get()); });
  const trace::Counts loads = launch.total(Space::shared, Op::load);
  CHECK(loads.requests == 4 * kThreads / 32);
  CHECK(per_request(loads) == 4);
  CHECK(launch.merged_shared_loads.requests == kThreads / 32);
  CHECK(launch.merged_shared_loads.units == 4 * kThreads / 32);
}

TEST_CASE("samples hold the lanes' places") {
  const Memory memory;
  const trace::Launch launch = traced(
      [&] { through_shared<<<1, kThreads>>>(memory.out.get(), [](int t) { return t % 32 < 16 ? 2 * (t % 32) : 0; }); });
  for (const trace::Access& access : launch.accesses) {
    if (access.space != Space::shared || access.op != Op::load) continue;
    REQUIRE(access.samples.size() == 1);
    const trace::Sample& sample = access.samples[0];
    CHECK(sample.warp < kThreads / 32);
    CHECK(sample.units == 1);
    CHECK(sample.offsets[3] - sample.offsets[0] == 3 * 8);
    CHECK(sample.passes[3] == 0);
    CHECK(access.worst_sample.units == access.worst);
  }
}

// ---- Races ----

namespace {

__global__ void neighbour_with_no_barrier(float* out) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[(threadIdx.x + 1) % kThreads];
}

__global__ void neighbour_after_barrier(float* out) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x + 1) % kThreads];
}

enum class Between { nothing, syncwarp, shuffle, tile, other_lanes };

template <Between between>
__global__ void neighbour_in_warp(float* out) {
  __shared__ float tile[32];
  const unsigned lane = threadIdx.x;
  tile[lane] = 1;
  if (between == Between::syncwarp) __syncwarp();
  if (between == Between::shuffle) __shfl_xor_sync(~0u, lane, 1);
  if (between == Between::tile) cg::tiled_partition<2>(cg::this_thread_block()).sync();
  if (between == Between::other_lanes) cg::tiled_partition<1>(cg::this_thread_block()).sync();
  out[lane] = tile[lane ^ 1];
}

// Lane 0's store is ordered before lane 2's load through lane 1.
__global__ void by_way_of_another_lane(float* out) {
  __shared__ float box;
  const unsigned lane = threadIdx.x;
  if (lane == 0) box = 1;
  if (lane < 2) __syncwarp(0x3);
  if (lane == 1 || lane == 2) __syncwarp(0x6);
  if (lane == 2) out[0] = box;
}

__global__ void halves(short* out) { out[blockIdx.x * kThreads + threadIdx.x] = 1; }

__global__ void all_store(int* out) { *out = 1; }

__global__ void neighbour_block_reads(float* data) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const float next = data[(i + kThreads) % (gridDim.x * kThreads)];
  data[i] = next;
}

__device__ unsigned finished;

template <bool fence>
__global__ void last_block_sums(float* partials, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = 1;
    if (fence) __threadfence();
    last = atomicAdd(&finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += partials[b];
  *out = sum;
  finished = 0;
}

// Each block writes data and sets the flag of the next block, which reads the data.
template <cuda::memory_order order, bool fence = false>
__global__ void chain(float* data, cuda::atomic<int, cuda::thread_scope_device>* flags) {
  const unsigned b = blockIdx.x;
  float sum = 1;
  if (b > 0) {
    while (flags[b - 1].load(cuda::memory_order_acquire) == 0) {
    }
    sum += data[b - 1];
  }
  data[b] = sum;
  if (fence) cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  flags[b].store(1, order);
}

// The same with a counter: the last block reads the data.
template <cuda::memory_order order>
__global__ void last_block_reads(float* data, unsigned* count, float* out) {
  data[blockIdx.x] = 1;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> blocks(*count);
  if (blocks.fetch_add(1, order) != gridDim.x - 1) return;
  float sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += data[b];
  *out = sum;
}

// Each block waits for all others on a counter; thread 0 fences before and after. Some blocks pass while others poll.
template <bool fence>
__global__ void spin_barrier(float* data, unsigned* arrived, float* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    if (fence) __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

// Each block publishes its value, and later the sum up to it. The next block uses the one that it sees first.
enum class First { value, flag };
template <First first>
__global__ void publishes_twice(float* values, float* sums, int* flags) {
  const unsigned b = blockIdx.x;
  const auto publish = [&](float* to, float value, int flag) {
    if (first == First::flag) atomicExch(&flags[b], flag);
    to[b] = value;
    __threadfence();
    if (first == First::value) atomicExch(&flags[b], flag);
  };
  publish(values, 1, 1);
  __syncthreads();
  float sum = 1;
  for (unsigned before = b; before > 0;) {
    const int flag = atomicAdd(&flags[--before], 0);
    if (flag == 0) ++before;
    if (flag == 1) sum += values[before];
    if (flag == 2) sum += sums[before];
    if (flag == 2) break;
  }
  __syncthreads();
  publish(sums, sum, 2);
}

__global__ void reads_returned_lane(float* out) {
  if (threadIdx.x % 32 >= 16) return;
  out[threadIdx.x] = __shfl_down_sync(~0u, 1.0f, 8);
}

struct Scale {
  const float* by;
  float own;
};

template <bool on_host>
__global__ void scales(float* out, Scale scale) {
  out[threadIdx.x] = on_host ? *scale.by : scale.own;
}

// Thread 0 writes the counter; all threads count, each after a fence. Without a barrier the write may come too late.
template <bool barrier>
__global__ void set_and_count(int* out) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  if (barrier) __syncthreads();
  __threadfence_block();
  atomicAdd(&counter, 1);
  __syncthreads();
  if (threadIdx.x == 0) *out = counter;
}

__global__ void meet_and_read(float* data, float* out) {
  data[blockIdx.x] = 1;
  cg::this_grid().sync();
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

}  // namespace

TEST_CASE("threads of a block, with and without a barrier") {
  const Memory memory;
  const trace::Launch racing = traced([&] { neighbour_with_no_barrier<<<1, kThreads>>>(memory.out.get()); });
  REQUIRE(!racing.races.empty());
  for (const trace::Race& race : racing.races) {
    CHECK(race.space == Space::shared);
    CHECK(!race.between_blocks);
    CHECK(race.first.thread.x != race.second.thread.x);
  }
  CHECK(races(traced([&] { neighbour_after_barrier<<<1, kThreads>>>(memory.out.get()); })) == "");
}

TEST_CASE("within a block a fence and another thread's atomic order nothing for a thread that has made none") {
  const Memory memory;
  const trace::Launch racing =
      traced([&] { set_and_count<false><<<1, 64>>>(reinterpret_cast<int*>(memory.out.get())); });
  REQUIRE(!racing.races.empty());
  for (const trace::Race& race : racing.races) CHECK(race.space == Space::shared);
  CHECK(races(traced([&] { set_and_count<true><<<1, 64>>>(reinterpret_cast<int*>(memory.out.get())); })) == "");
}

TEST_CASE("lanes of a warp: __syncwarp orders their accesses, a shuffle does not") {
  const Memory memory;
  const auto found = [&](auto kernel) {
    const trace::Launch launch = traced([&] { kernel<<<1, 32>>>(memory.out.get()); });
    return !launch.races.empty();
  };
  CHECK(found(neighbour_in_warp<Between::nothing>));
  CHECK(!found(neighbour_in_warp<Between::syncwarp>));
  CHECK(found(neighbour_in_warp<Between::shuffle>));
  CHECK(!found(neighbour_in_warp<Between::tile>));
  CHECK(found(neighbour_in_warp<Between::other_lanes>));
  CHECK(!found(by_way_of_another_lane));
}

TEST_CASE("neighbouring bytes do not race, equal values do") {
  const Memory memory;
  CHECK(races(traced([&] { halves<<<2, kThreads>>>(reinterpret_cast<short*>(memory.out.get())); })) == "");
  const trace::Launch launch = traced([&] { all_store<<<1, 32>>>(reinterpret_cast<int*>(memory.out.get())); });
  REQUIRE(launch.races.size() == 1);
  CHECK(launch.races[0].kind == trace::Race::Kind::write_after_write);
  CHECK(launch.races[0].space == Space::global);
}

TEST_CASE("blocks: a fence and an atomic order, nothing else but a grid barrier does") {
  const Memory memory;
  float *in = memory.in.get(), *out = memory.out.get();
  const trace::Launch racing = traced([&] { neighbour_block_reads<<<4, kThreads>>>(in); });
  REQUIRE(!racing.races.empty());
  CHECK(racing.races[0].between_blocks);
  CHECK(racing.races[0].first.block.x != racing.races[0].second.block.x);

  CHECK(races(traced([&] { last_block_sums<true><<<8, 64>>>(in, out); })) == "");
  const trace::Launch no_fence = traced([&] { last_block_sums<false><<<8, 64>>>(in, out); });
  REQUIRE(no_fence.races.size() == 1);
  CHECK(no_fence.races[0].kind == trace::Race::Kind::read_after_write);
  CHECK(no_fence.races[0].between_blocks);

  using Flag = cuda::atomic<int, cuda::thread_scope_device>;
  const auto traced_chain = [&](auto kernel) {
    CUDA_CHECK(cudaMemset(out, 0, 4 * sizeof(Flag)));
    return traced([&] { kernel<<<4, 1>>>(in, reinterpret_cast<Flag*>(out)); });
  };
  CHECK(races(traced_chain(chain<cuda::memory_order_release>)) == "");
  CHECK(races(traced_chain(chain<cuda::memory_order_seq_cst>)) == "");
  CHECK(races(traced_chain(chain<cuda::memory_order_relaxed, true>)) == "");
  const trace::Launch relaxed = traced_chain(chain<cuda::memory_order_relaxed>);
  REQUIRE(relaxed.races.size() == 1);
  CHECK(relaxed.races[0].kind == trace::Race::Kind::read_after_write);
  CHECK(relaxed.races[0].between_blocks);

  const auto traced_count = [&](auto kernel) {
    CUDA_CHECK(cudaMemset(out, 0, sizeof(unsigned)));
    return traced([&] { kernel<<<8, 1>>>(in, reinterpret_cast<unsigned*>(out), out + 1); });
  };
  const trace::Launch counted = traced_count(last_block_reads<cuda::memory_order_acq_rel>);
  CHECK(races(counted) == "");
  CHECK(counted.total(Space::global, Op::atomic).lanes == 8);
  CHECK(traced_count(last_block_reads<cuda::memory_order_relaxed>).races.size() == 1);

  void* arguments[] = {&in, &out};
  const auto launch_together = [&] {
    CUDA_CHECK(cudaLaunchCooperativeKernel(meet_and_read, dim3(4), dim3(1), arguments));
  };
  CHECK(races(traced(launch_together)) == "");
}

TEST_CASE("blocks: a fence between a store and any later atomic orders, whatever its thread does next") {
  const Memory memory;
  float *in = memory.in.get(), *out = memory.out.get();
  auto* counter = reinterpret_cast<unsigned*>(out + 64);
  const auto traced_barrier = [&](auto kernel) {
    CUDA_CHECK(cudaMemset(counter, 0, sizeof(unsigned)));
    return traced([&] { kernel<<<4, 32>>>(in, counter, out); });
  };
  CHECK(races(traced_barrier(spin_barrier<true>)) == "");
  const trace::Launch unfenced = traced_barrier(spin_barrier<false>);
  REQUIRE(unfenced.races.size() == 1);
  CHECK(unfenced.races[0].kind == trace::Race::Kind::read_after_write);

  const auto traced_twice = [&](auto kernel) {
    CUDA_CHECK(cudaMemset(out, 0, 16 * sizeof(int)));
    return traced([&] { kernel<<<16, 1>>>(in, in + 16, reinterpret_cast<int*>(out)); });
  };
  CHECK(races(traced_twice(publishes_twice<First::value>)) == "");
  CHECK(!traced_twice(publishes_twice<First::flag>).races.empty());
}

TEST_CASE("what a program does with a report is not the kernel's") {
  static std::vector<std::string> causes;
  const auto before = cuda_emu::on_report([](const cuda_emu::Report& report) { causes.push_back(report.cause); });
  const Memory memory;
  const trace::Launch launch = traced([&] { reads_returned_lane<<<1, 64>>>(memory.out.get()); });
  cuda_emu::on_report(before);
  CHECK(causes == std::vector<std::string>{"lane is gone"});
  CHECK(launch.accesses.size() == 1);
  CHECK(races(launch) == "");
}

// Traces launch() and returns the cause of its failure, as in the report; empty if it did not fail.
template <class Body>
std::string cause_of_failure(const Body& body) {
  static std::string causes;
  causes.clear();
  const auto before = cuda_emu::on_report([](const cuda_emu::Report& report) { causes += report.cause; });
  trace::start();
  body();
  trace::stop();
  CHECK(cudaDeviceSynchronize() == (causes.empty() ? cudaSuccess : cudaErrorIllegalAddress));
  CUDA_CHECK(cudaDeviceReset());
  cuda_emu::on_report(before);
  return causes;
}

TEST_CASE("a pointer to a variable of the host, in a structure") {
  const float on_stack = 2;
  const auto launch = [&](auto kernel) { kernel<<<2, 32>>>(Memory().out.get(), Scale{&on_stack, 3}); };
  CHECK(cause_of_failure([&] { launch(scales<false>); }) == "");
  CHECK(cause_of_failure([&] { launch(scales<true>); }) == "host memory");
}

// Compares loads with 7. Memory outside of an allocation never holds 7, so the result cannot reveal such a load.
template <class T>
__global__ void loads(const T* in, int first, float* out) {
  const T value = in[first + static_cast<int>(threadIdx.x)];
  out[threadIdx.x] = *reinterpret_cast<const float*>(&value) == 7 ? 2.0f : 1.0f;
}
__global__ void loads_shared(int beyond, float* out) {
  __shared__ float tile[32];
  extern __shared__ float dynamic[];
  tile[threadIdx.x] = 1;
  dynamic[threadIdx.x] = tile[threadIdx.x + beyond] == 7 ? 2.0f : 1.0f;
  out[threadIdx.x] = dynamic[threadIdx.x];
}

TEST_CASE("a load outside of an allocation or of a shared array, even if its value does not matter") {
  const auto from = [](int first) {
    return cause_of_failure([first] { loads<<<1, 32>>>(DeviceBuffer<float>(99).get(), first, Memory().out.get()); });
  };
  CHECK(from(0) == "");
  CHECK(from(99 - 32) == "");
  CHECK(from(99 - 31) == "address");
  CHECK(from(-1) == "address");
  CHECK(cause_of_failure([] {  // 16 bytes, of which the first 12 are in the allocation
          const DeviceBuffer<float> in(32 * 4 - 1);
          loads<<<1, 32>>>(reinterpret_cast<const float4*>(in.get()), 0, Memory().out.get());
        }) == "address");
  CHECK(from(1 << 20) == "address");
  CHECK(cause_of_failure([] {  // an allocation smaller than the access
          loads<<<1, 1>>>(reinterpret_cast<const float4*>(DeviceBuffer<float>(1).get()), 0, Memory().out.get());
        }) == "address");
  const auto shared = [](int beyond, std::size_t bytes) {
    return cause_of_failure([=] { loads_shared<<<1, 32, bytes>>>(beyond, Memory().out.get()); });
  };
  CHECK(shared(0, 128) == "");
  CHECK(shared(1, 128) == "shared array");
  CHECK(shared(0, 124) == "shared array");
}

__global__ void eventful(int* counter, float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = 2.0f * static_cast<float>(threadIdx.x);
  __syncthreads();
  const float value = __shfl_xor_sync(~0u, tile[31 - threadIdx.x], 1);
  atomicAdd(counter, 1);
  out[threadIdx.x] = value;
}

TEST_CASE("events: what each lane loads, stores and gets, in the order of the replay") {
  const Memory memory;
  auto* counter = reinterpret_cast<int*>(memory.in.get());
  CUDA_CHECK(cudaMemset(counter, 0, sizeof(int)));
  trace::start(true);
  eventful<<<1, 32>>>(counter, memory.out.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  REQUIRE(launches.size() == 1);
  using Kind = trace::WarpEvent::Kind;
  const std::vector<trace::WarpEvent>& events = launches[0].events;
  std::vector<Kind> kinds;
  for (const trace::WarpEvent& event : events) kinds.push_back(event.kind);
  REQUIRE(kinds == std::vector<Kind>{Kind::access, Kind::wait, Kind::barrier, Kind::access, Kind::collective,
                                     Kind::access, Kind::access, Kind::returned});
  const auto bits = [](float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return word;
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto words = [&](std::size_t event) { return events[event].parts[lane].words; };
    const auto of_lane = [&](unsigned from) { return bits(2.0f * static_cast<float>(from)); };
    CHECK(words(0)[0] == of_lane(lane));
    CHECK(words(3)[0] == of_lane(31 - lane));
    CHECK(words(4)[0] == of_lane(31 - lane));
    CHECK(words(4)[1] == of_lane(31 - (lane ^ 1)));
    CHECK(words(4)[2] == 1 + (lane ^ 1));
    CHECK(words(5)[0] == words(5)[2] + 1);
    CHECK(words(6)[0] == words(4)[1]);
    CHECK(events[0].parts[lane].executed < events[1].parts[lane].executed);
  }
  CHECK(launches[0].all_events);
}

__global__ void outlives_its_warp(float* sum) {
  if (threadIdx.x > 0) return;
  __syncthreads();
  atomicAdd(sum, 1.5f);
}

TEST_CASE("events: what a thread does after a barrier that others have returned from, and what is after an atomic") {
  const Memory memory;
  CUDA_CHECK(cudaMemset(memory.out.get(), 0, sizeof(float)));
  trace::start(true);
  outlives_its_warp<<<1, 32>>>(memory.out.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  using Kind = trace::WarpEvent::Kind;
  const std::vector<trace::WarpEvent>& events = launches.at(0).events;
  std::vector<Kind> kinds;
  for (const trace::WarpEvent& event : events) kinds.push_back(event.kind);
  REQUIRE(kinds == std::vector<Kind>{Kind::wait, Kind::returned, Kind::barrier, Kind::access, Kind::returned});
  float after = 0;
  std::memcpy(&after, &events[3].parts[0].words[0], sizeof after);
  CHECK(after == 1.5f);
  CHECK(events[3].parts[0].words[2] == 0);
  CHECK(launches[0].total(Space::global, Op::atomic).requests == 1);
}

__global__ void spins(int* flag, int* out) {
  if (threadIdx.x == 0) {
    for (int round = 0; round < 100; ++round) atomicAdd(flag, 0);
    atomicExch(flag, 1);
  } else {
    while (atomicCAS(flag, 1, 2) != 1) {
    }
    *out = *flag;
  }
}

TEST_CASE("events: a thread that finds the same over and over") {
  const Memory memory;
  auto* flag = reinterpret_cast<int*>(memory.out.get());
  CUDA_CHECK(cudaMemset(flag, 0, sizeof(int)));
  trace::start(true);
  spins<<<1, 2>>>(flag, flag + 1);
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  std::array<unsigned, 2> polls{}, others{};
  for (const trace::WarpEvent& event : launches.at(0).events) {
    if (event.op != Op::atomic || event.parts.empty() || event.kind != trace::WarpEvent::Kind::access) continue;
    for (std::size_t i = 0; i < event.parts.size(); ++i) {
      const unsigned lane = event.lanes == 3 ? static_cast<unsigned>(i) : event.lanes - 1;
      ++(event.parts[i].words[0] == event.parts[i].words[2] ? polls : others)[lane];
    }
  }
  CHECK(polls[0] == 9);  // no poll follows the last one
  CHECK(polls[1] <= 8);
  CHECK(others == std::array<unsigned, 2>{1, 1});
}

__global__ void three_arrays(float* out) {
  extern __shared__ float4 vectors[];
  __shared__ float rows[2][33];
  __shared__ unsigned char one;
  rows[1][threadIdx.x] = 1;
  vectors[threadIdx.x].x = 2;
  if (threadIdx.x == 0) one = 3;
  out[threadIdx.x] = vectors[threadIdx.x].x + rows[1][threadIdx.x];
}

TEST_CASE("events: the __shared__ array of an access") {
  const Memory memory;
  trace::start(true);
  three_arrays<<<1, 32, 32 * sizeof(float4)>>>(memory.out.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  const trace::Launch& launch = launches.at(0);
  const auto array_of = [&](std::size_t event) { return launch.shared_arrays.at(launch.events.at(event).array); };
  const auto offset_of = [&](std::size_t event) {
    return launch.events.at(event).parts[0].address - array_of(event).begin;
  };
  REQUIRE(launch.shared_arrays.size() == 3);
  CHECK(array_of(0).name == std::string("rows"));
  CHECK(array_of(0).type->extents == std::array<std::size_t, 5>{2, 33, 0, 0, 0});
  CHECK(*array_of(0).type->element == typeid(float));
  CHECK(array_of(0).bytes == sizeof(float[2][33]));
  CHECK(offset_of(0) == sizeof(float[33]));
  CHECK(array_of(1).name == std::string("vectors"));
  CHECK(*array_of(1).type->element == typeid(float4));
  CHECK(array_of(1).bytes == 32 * sizeof(float4));
  CHECK(offset_of(1) == 0);
  CHECK(array_of(2).name == std::string("one"));
  CHECK(array_of(2).type->extents[0] == 0);
}

TEST_CASE("events: the two accesses of a race, each time") {
  const Memory memory;
  trace::start(true);
  neighbour_in_warp<Between::nothing><<<1, 32>>>(memory.out.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  const auto address_of = [&](std::uint32_t executed) {
    for (const trace::WarpEvent& event : launches.at(0).events) {
      for (const auto& part : event.parts) {
        if (part.executed == executed) return part.address;
      }
    }
    return std::uint64_t{0};
  };
  std::size_t times = 0;
  for (const trace::Race& race : launches.at(0).races) {
    times += race.executed.size();
    for (const auto& both : race.executed) {
      CHECK(both[0] < both[1]);
      CHECK(address_of(both[0]) != 0);
      CHECK(address_of(both[0]) == address_of(both[1]));
    }
  }
  CHECK(times == 32);
}

__global__ void copies_and_waits(const float* in, float* out) {
  __shared__ float tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_CASE("events: an asynchronous copy has its value when it lands") {
  const Memory memory;
  trace::start(true);
  copies_and_waits<<<1, 32>>>(memory.in.get(), memory.out.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<trace::Launch> launches = trace::stop();
  using Kind = trace::WarpEvent::Kind;
  const std::vector<trace::WarpEvent>& events = launches.at(0).events;
  std::vector<Kind> kinds;
  for (const trace::WarpEvent& event : events) kinds.push_back(event.kind);
  REQUIRE(kinds ==
          std::vector<Kind>{Kind::access, Kind::access, Kind::landing, Kind::access, Kind::access, Kind::returned});
  for (unsigned lane = 0; lane < 32; ++lane) {
    CHECK(events[2].parts[lane].words[0] == events[0].parts[lane].words[0]);
    CHECK(events[2].parts[lane].words[0] == events[3].parts[lane].words[0]);
  }
}

TEST_CASE("only launches between start and stop are traced") {
  const Memory memory;
  gather<<<1, kThreads>>>(memory.in.get(), memory.out.get(), [](int t) { return t; });
  trace::start();
  CHECK(trace::stop().empty());
  gather<<<1, kThreads>>>(memory.in.get(), memory.out.get(), [](int t) { return t; });
  CHECK(trace::stop().empty());
}
