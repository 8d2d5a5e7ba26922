// The streams and events of a step.
#pragma once
#include "ladder.cuh"

#include <vector>

// Streams or events, created on first use and kept until the program ends, because creating one is slow.
template <typename Handle, cudaError_t (*create)(Handle*), cudaError_t (*destroy)(Handle)>
class Handles {
 public:
  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (const Handle handle : handles_) destroy(handle);
  }
  Handle operator[](std::size_t i) {
    while (handles_.size() <= i) {
      Handle handle;
      CUDA_CHECK(create(&handle));
      handles_.push_back(handle);
    }
    return handles_[i];
  }

 private:
  std::vector<Handle> handles_;
};

// Creates a blocking stream: it and the default stream wait for each other.
inline cudaError_t create_stream(cudaStream_t* stream) { return cudaStreamCreate(stream); }
inline cudaError_t destroy_stream(cudaStream_t stream) { return cudaStreamDestroy(stream); }
// Creates an event without timing, which is cheaper and enough for ordering.
inline cudaError_t create_event(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); }
inline cudaError_t destroy_event(cudaEvent_t event) { return cudaEventDestroy(event); }

// Return stream or event i. Each step has its own.
static inline cudaStream_t stream_number(std::size_t i) {
  static Handles<cudaStream_t, create_stream, destroy_stream> streams;
  return streams[i];
}
static inline cudaEvent_t event_number(std::size_t i) {
  static Handles<cudaEvent_t, create_event, destroy_event> events;
  return events[i];
}
