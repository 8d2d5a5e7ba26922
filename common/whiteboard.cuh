// Hands a whiteboard answer, which is plain CUDA or C++ and includes nothing of ours, to the checks of its problem.
#pragma once
#include "ladder.cuh"

// The launch function that a problem calls, of an answer that returns its error: LADDER_STEP(Add, checked<launch>).
template <auto answer, typename... Arguments>
void checked(Arguments... arguments) {
  CUDA_CHECK(answer(arguments...));
}

// `Problem` for an answer that runs on the host: its buffers are in host memory.
template <typename Problem>
class OnHost : public Problem {
 public:
  using Problem::Problem;
  ladder::Place place() const override { return ladder::Place::pageable; }
};
