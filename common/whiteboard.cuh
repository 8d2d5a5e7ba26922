// Connects a whiteboard answer, plain CUDA or C++ without our headers, to the checks of its problem.
#pragma once
#include "ladder.cuh"

// Adapts an answer that returns its error: LADDER_STEP(Add, checked<launch>).
template <auto answer, typename... Arguments>
void checked(Arguments... arguments) {
  CUDA_CHECK(answer(arguments...));
}

// A problem with its buffers in host memory, for an answer that runs on the host.
template <typename Problem>
class OnHost : public Problem {
 public:
  using Problem::Problem;
  ladder::Place place() const override { return ladder::Place::pageable; }
};
