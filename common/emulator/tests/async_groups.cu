// Groups partitioned by labels, and waits without a block barrier: cuda::barrier and cuda::pipeline.
#include "support.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <algorithm>

#ifndef CUDA_EMU
#pragma nv_diag_suppress static_var_with_dynamic_init  // of a __shared__ cuda::barrier: init() sets it
#endif

namespace cg = cooperative_groups;

namespace {

constexpr int kThreads = 96;

__device__ int ranks_and_sum(cg::thread_group group) {
  group.sync();
  return static_cast<int>(group.size() * 1000 + group.thread_rank());
}

__global__ void cut_groups(const int* labels, int* by_label, int* by_answer, int* of_four, int* of_block, int* sums) {
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int i = block.thread_rank();
  const auto labelled = cg::labeled_partition(warp, labels[i]);
  by_label[i] = ranks_and_sum(labelled);
  sums[i] = cg::reduce(labelled, i, cg::plus<int>());
  by_answer[i] = ranks_and_sum(cg::binary_partition(warp, labels[i] == 2));
  of_four[i] = ranks_and_sum(cg::tiled_partition(block, 4));
  of_block[i] = ranks_and_sum(block);
}

// Every thread arrives, does other work, and waits. Then the writes before the arrivals are visible.
__global__ void arrive_then_wait(int* out, int rounds) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ int values[2][kThreads];
  const int i = threadIdx.x;
  if (i == 0) init(&barrier, kThreads);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    values[round % 2][i] = i + round;
    Barrier::arrival_token token = barrier.arrive();
    sum += round;
    barrier.wait(std::move(token));
    sum += values[round % 2][(i + 1) % kThreads];
  }
  out[i] = sum;
}

__global__ void copy_with_barrier(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) int tile[kThreads];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, in, sizeof(int) * kThreads, barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

__global__ void copy_with_group(const int* in, int* out) {
  __shared__ alignas(16) int tile[kThreads];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof(int) * kThreads);
  cg::wait(block);
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

// Two stages; each thread reads its own copies.
__global__ void copy_with_pipeline(const int* in, int* out, int tiles) {
  __shared__ int tile[2][kThreads];
  const int i = threadIdx.x;
  auto pipeline = cuda::make_pipeline();
  for (int fetched = 0, t = 0; t < tiles; ++t) {
    for (; fetched < tiles && fetched < t + 2; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&tile[fetched % 2][i], &in[fetched * kThreads + i], sizeof(int), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[t * kThreads + i] = tile[t % 2][i] + 1;
    pipeline.consumer_release();
  }
}

// Two stages; each thread reads copies of other threads.
__global__ void copy_with_block_pipeline(const int* in, int* out, int tiles) {
  __shared__ int tile[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  const int i = threadIdx.x;
  for (int fetched = 0, t = 0; t < tiles; ++t) {
    for (; fetched < tiles && fetched < t + 2; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, tile[fetched % 2], in + fetched * kThreads, sizeof(int) * kThreads, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[t * kThreads + i] = tile[t % 2][kThreads - 1 - i];
    pipeline.consumer_release();
  }
}

// The first warp copies, the others read the copies.
__global__ void copy_with_roles(const int* in, int* out, int tiles) {
  constexpr int stages = 3, width = kThreads - 32;
  __shared__ int tile[stages][width];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int i = static_cast<int>(threadIdx.x) - 32;
  auto pipeline =
      cuda::make_pipeline(block, &state, i < 0 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  for (int t = 0; t < tiles; ++t) {
    if (i < 0) {
      pipeline.producer_acquire();
      cuda::memcpy_async(warp, tile[t % stages], in + t * width, sizeof(int) * width, pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      out[t * width + i] = tile[t % stages][width - 1 - i];
      pipeline.consumer_release();
    }
  }
}

// In each round the upper half of the remaining threads drop out, and the others synchronize without them.
__global__ void halve_by_dropping(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[kThreads];
  const int i = threadIdx.x;
  if (i == 0) init(&barrier, kThreads);
  __syncthreads();
  values[i] = i;
  for (int left = kThreads / 2; left > 2; left /= 2) {
    if (i >= left) {
      barrier.arrive_and_drop();
      return;
    }
    barrier.arrive_and_wait();
    values[i] += values[i + left];
  }
  out[i] = values[i];
}

#ifdef CUDA_EMU
// Promises an alignment of 16 bytes.
__global__ void copy_as_promised(const int* in, int* out) {
  __shared__ alignas(16) int tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> filled;
  if (threadIdx.x == 0) init(&filled, kThreads);
  __syncthreads();
  cuda::memcpy_async(cg::this_thread_block(), tile, in, cuda::aligned_size_t<16>(sizeof tile), filled);
  filled.arrive_and_wait();
  out[threadIdx.x] = tile[threadIdx.x];
}
#endif

}  // namespace

TEST_CASE("groups by label, by answer and by a size at run time") {
  std::vector<int> labels(kThreads);
  Random random(3);
  for (int& label : labels) label = random(0, 4);
  DeviceVector<int> in(labels), by_label(kThreads), by_answer(kThreads), of_four(kThreads), of_block(kThreads),
      sums(kThreads);
  cut_groups<<<1, kThreads>>>(in.data(), by_label.data(), by_answer.data(), of_four.data(), of_block.data(),
                              sums.data());
  const auto label = by_label.get(), answer = by_answer.get(), four = of_four.get(), block = of_block.get(),
             sum = sums.get();
  for (int i = 0; i < kThreads; ++i) {
    int same = 0, same_before = 0, agree = 0, agree_before = 0, total = 0;
    for (int j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
      const bool equal = labels[j] == labels[i], agrees = (labels[j] == 2) == (labels[i] == 2);
      same += equal;
      same_before += equal && j < i;
      agree += agrees;
      agree_before += agrees && j < i;
      total += equal ? j : 0;
    }
    INFO(i);
    REQUIRE(label[i] == same * 1000 + same_before);
    REQUIRE(answer[i] == agree * 1000 + agree_before);
    REQUIRE(sum[i] == total);
    REQUIRE(four[i] == 4000 + i % 4);
    REQUIRE(block[i] == kThreads * 1000 + i);
  }
}

TEST_CASE("cuda::barrier: arrive, then wait") {
  const int rounds = 5;
  DeviceVector<int> out(kThreads);
  arrive_then_wait<<<1, kThreads>>>(out.data(), rounds);
  const auto got = out.get();
  for (int i = 0; i < kThreads; ++i) REQUIRE(got[i] == rounds * ((i + 1) % kThreads) + rounds * (rounds - 1));
}

TEST_CASE("copies that a barrier, a group or a pipeline waits for") {
  const int tiles = 5;
  std::vector<int> values(tiles * kThreads);
  for (int i = 0; i < tiles * kThreads; ++i) values[i] = 3 * i;
  DeviceVector<int> in(values), out(tiles * kThreads);
  std::vector<int> reversed(values.begin(), values.begin() + kThreads);
  std::reverse(reversed.begin(), reversed.end());
  copy_with_barrier<<<1, kThreads>>>(in.data(), out.data());
  auto got = out.get();
  CHECK(std::vector<int>(got.begin(), got.begin() + kThreads) == reversed);
  copy_with_group<<<1, kThreads>>>(in.data(), out.data());
  got = out.get();
  CHECK(std::vector<int>(got.begin(), got.begin() + kThreads) == reversed);

  copy_with_pipeline<<<1, kThreads>>>(in.data(), out.data(), tiles);
  got = out.get();
  for (int i = 0; i < tiles * kThreads; ++i) REQUIRE(got[i] == values[i] + 1);
  copy_with_block_pipeline<<<1, kThreads>>>(in.data(), out.data(), tiles);
  got = out.get();
  for (int i = 0; i < tiles * kThreads; ++i) {
    REQUIRE(got[i] == values[i / kThreads * kThreads + kThreads - 1 - i % kThreads]);
  }
  for (const int count : {0, 1, 2, 3, 4, 7}) {
    constexpr int width = kThreads - 32;
    DeviceVector<int> turned(tiles * kThreads, -1);
    copy_with_roles<<<1, kThreads>>>(in.data(), turned.data(), count);
    got = turned.get();
    for (int i = 0; i < count * width; ++i) REQUIRE(got[i] == values[i / width * width + width - 1 - i % width]);
    CHECK(got[count * width] == -1);
  }
}

TEST_CASE("threads that leave a barrier are not waited for") {
  DeviceVector<int> out(3);
  halve_by_dropping<<<1, kThreads>>>(out.data());
  CHECK(out.get() == std::vector<int>{1488, 1520, 1552});
}

#ifdef CUDA_EMU
TEST_CASE("an alignment that is promised and not there is an error") {
  DeviceVector<int> in(kThreads + 4, 3), out(kThreads);
  copy_as_promised<<<1, kThreads>>>(in.data() + 4, out.data());
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out.get() == std::vector<int>(kThreads, 3));
  copy_as_promised<<<1, kThreads>>>(in.data() + 2, out.data());
  CHECK(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
  cudaDeviceReset();
}
#endif
