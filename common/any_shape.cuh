// What a program for any shape does that a library does too: it has several kernels for the same work, and the first
// call at a shape times those that accept it and remembers the fastest.
//
//   static bool fits_registers(const MatrixCall& call) { return call.cols <= 1024; }
//   static const Candidate<MatrixCall> kCandidates[] = {{"registers", fits_registers, run<launch_registers>},
//                                                       {"relay", any, run<launch_relay>}};
//   static void launch(...) { launch_fastest(kCandidates, MatrixCall{...}); }
//
// Other calls are structs of their own, with the same shape() and outputs().
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

// A pointer's distance from a 16-byte boundary, as a part of a Shape.
inline std::size_t alignment(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16; }

// The arguments of a kernel that makes a rows x cols matrix of another one: x to y.
struct MatrixCall {
  const float* x;
  float* y;
  std::size_t rows, cols;
  // All that the time depends on.
  Shape shape() const { return {rows, cols, alignment(x), alignment(y)}; }
  // Calls visit(pointer, elements, is it read too?) for each output.
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(y, rows * cols, false);
  }
  bool is_aligned() const { return aligned_for<float4>(x, y) && cols % 4 == 0; }
};

// Launches a step's kernel, as a candidate does.
template <void (*kLaunch)(const float*, float*, std::size_t, std::size_t)>
void run(const MatrixCall& call) {
  kLaunch(call.x, call.y, call.rows, call.cols);
}
template <typename Call>
bool any(const Call&) {
  return true;
}

namespace ladder {

// A call like another one, whose outputs are memory of its own: at the same distance from a 256-byte boundary, and with
// the same contents where they are read.
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

// The time of one launch in us, with a cold L2: before it, memory of twice its size is written.
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

// The fastest of the candidates numbered `able`: by the median of five launches each. One that takes three times as long
// as another in its first launch gets no further one. Within 2 % the first one wins, so that equal ones do not alternate.
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

// The candidate for a call: the fastest of those that accept it, by measurement; where launches must not be repeated, times
// mean nothing (ladder::may_time()) or memory is short, the first that accepts it.
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

// Launches the candidate for a call, which is chosen at the first call of its shape on this device; or the one that the
// variable LADDER_CHOICE names. A check has every candidate in turn run (ladder::CandidateRun).
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
