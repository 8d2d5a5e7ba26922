// Chooses among several kernels for the same work, as a library does: the first call at a shape times those that accept
// it, and later calls launch the fastest.
//
//   static bool fits_registers(const MatrixCall& call) { return call.cols <= 1024; }
//   static const Candidate<MatrixCall> kCandidates[] = {{"registers", fits_registers, run<launch_registers>},
//                                                       {"relay", any, run<launch_relay>}};
//   static void launch(...) { launch_fastest(kCandidates, MatrixCall{...}); }
//
// For other arguments write a struct like MatrixCall, with shape() and outputs().
#pragma once
#include "cuda_helpers.cuh"
#include "problem.hpp"

#include <array>
#include <map>
#include <memory>
#include <vector>

using Shape = std::vector<std::size_t>;

template <typename Call>
struct Candidate {
  const char* name;
  bool (*accepts)(const Call&);
  void (*launch)(const Call&);
};

// Returns a pointer's distance from a 16-byte boundary in bytes, for a Shape.
inline std::size_t alignment(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16; }

// The arguments of a kernel that computes a rows x cols matrix y from a matrix x of the same size.
struct MatrixCall {
  const float* x;
  float* y;
  std::size_t rows, cols;
  // Everything that the time depends on.
  Shape shape() const { return {rows, cols, alignment(x), alignment(y)}; }
  // Calls visit(pointer, elements, is_read) for each output; is_read: the kernel also reads it.
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(y, rows * cols, false);
  }
  bool is_aligned() const { return aligned_for<float4>(x, y) && cols % 4 == 0; }
};

// Adapts a step's launch function to a candidate's.
template <void (*kLaunch)(const float*, float*, std::size_t, std::size_t)>
void run(const MatrixCall& call) {
  kLaunch(call.x, call.y, call.rows, call.cols);
}
template <typename Call>
bool any(const Call&) {
  return true;
}

namespace ladder {

// A copy of a call that writes to memory of its own, at the same distance from a 256-byte boundary as the original's
// outputs. Outputs that are also read have the same contents.
template <typename Call>
class CallOnScratch {
 public:
  explicit CallOnScratch(const Call& original) : call(original) {
    call.outputs([this](auto*& pointer, std::size_t count, bool is_read) {
      const std::size_t bytes = count * sizeof *pointer, offset = reinterpret_cast<std::uintptr_t>(pointer) % 256;
      memory_.emplace_back(bytes + offset);
      void* const copy = memory_.back().get() + offset;
      if (is_read) CUDA_CHECK(cudaMemcpy(copy, pointer, bytes, cudaMemcpyDeviceToDevice));
      pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(copy);
    });
  }
  Call call;

 private:
  std::vector<DeviceBuffer<unsigned char>> memory_;
};

// Returns the time of one launch in us. L2 is cold: twice its size is written before.
template <typename Call>
float time_once(const Candidate<Call>& candidate, const Call& call, DeviceBuffer<unsigned char>& flush,
                const std::array<cudaEvent_t, 2>& events) {
  CUDA_CHECK(cudaMemsetAsync(flush.get(), 0, flush.count()));
  CUDA_CHECK(cudaEventRecord(events[0]));
  candidate.launch(call);
  CUDA_CHECK(cudaEventRecord(events[1]));
  CUDA_CHECK(cudaEventSynchronize(events[1]));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, events[0], events[1]));
  return 1000 * ms;
}

// Returns the index of the fastest candidate among `able`, by the median of five launches. A candidate whose first
// launch takes three times as long as another's is dropped. Within 2 % the earlier one wins, so that the choice is
// stable.
template <typename Call>
std::size_t fastest(const Candidate<Call>* candidates, const std::vector<std::size_t>& able, const Call& original) {
  constexpr int kLaunches = 5;
  CallOnScratch<Call> scratch(original);
  DeviceBuffer<unsigned char> flush(2 * l2_bytes());
  std::array<cudaEvent_t, 2> events;
  for (cudaEvent_t& event : events) CUDA_CHECK(cudaEventCreate(&event));
  std::vector<std::vector<float>> us(able.size());
  float least = std::numeric_limits<float>::infinity();
  for (const std::size_t c : able) candidates[c].launch(scratch.call);  // loads the code, allocates scratch memory
  for (std::size_t i = 0; i < able.size(); ++i) {
    us[i] = {time_once(candidates[able[i]], scratch.call, flush, events)};
    least = std::min(least, us[i][0]);
  }
  std::size_t best = 0;
  float best_us = std::numeric_limits<float>::infinity();
  for (int turn = 1; turn < kLaunches; ++turn) {
    for (std::size_t i = 0; i < able.size(); ++i) {
      if (us[i][0] < 3 * least) us[i].push_back(time_once(candidates[able[i]], scratch.call, flush, events));
    }
  }
  for (std::size_t i = 0; i < able.size(); ++i) {
    std::sort(us[i].begin(), us[i].end());
    const float median = us[i][us[i].size() / 2];
    if (us[i].size() == kLaunches && median < 0.98f * best_us) {
      best = i;
      best_us = median;
    }
  }
  for (const cudaEvent_t event : events) CUDA_CHECK(cudaEventDestroy(event));
  return able[best];
}

}  // namespace ladder

// Returns the index of the fastest candidate that accepts the call. It returns the first one that accepts it if
// launches can't be timed (ladder::may_time()) or device memory is short.
template <typename Call, std::size_t kCount>
std::size_t choose_candidate(const Candidate<Call> (&candidates)[kCount], const Call& call) {
  std::vector<std::size_t> able;
  for (std::size_t c = 0; c < kCount; ++c) {
    if (ladder::is_chosen(candidates[c].name) && candidates[c].accepts(call)) able.push_back(c);
  }
  if (able.empty()) {
    throw ladder::UsageError("no candidate, or not the one that LADDER_CHOICE names, accepts this size");
  }
  if (able.size() == 1 || !ladder::may_time()) return able[0];
  try {
    return ladder::fastest(candidates, able, call);
  } catch (const ladder::CudaError& error) {
    if (error.code != cudaErrorMemoryAllocation) throw;
    cudaGetLastError();
    return able[0];
  }
}

// Launches the candidate chosen at the first call of this shape on this device, or the one that the environment
// variable LADDER_CHOICE names. Checks run every candidate in turn (ladder::CandidateRun).
template <typename Call, std::size_t kCount>
void launch_fastest(const Candidate<Call> (&candidates)[kCount], const Call& call) {
  ladder::CandidateRun& run = ladder::candidate_run();
  run.candidates = kCount;
  std::size_t chosen = 0;
  if (run.wanted) {
    chosen = *run.wanted;
    if (!candidates[chosen].accepts(call)) throw ladder::NotAccepted();
  } else {
    static std::map<std::pair<int, Shape>, std::size_t> known;
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    std::pair<int, Shape> key{device, call.shape()};
    auto place = known.find(key);
    if (place == known.end() || run.again) {
      chosen = choose_candidate(candidates, call);
      place = known.insert_or_assign(std::move(key), chosen).first;
    }
    chosen = place->second;
  }
  run.taken = candidates[chosen].name;
  candidates[chosen].launch(call);
}
