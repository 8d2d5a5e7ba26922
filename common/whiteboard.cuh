// Hands a whiteboard answer, which is plain CUDA or C++ and includes nothing of ours, to the checks of its problem.
#pragma once
#include "ladder.cuh"

// Registers this file as LADDER_STEP does, under its kernel's name and "_whiteboard": whiteboard/sum.cu is
// sum_whiteboard.
#define LADDER_ANSWER(problem, ...)                                                                                   \
  static const ladder::Registration ladder_step(std::unique_ptr<ladder::Problem>(new problem(__VA_ARGS__)), __FILE__, \
                                                LADDER_NEEDS, "_whiteboard")

// The launch function that a problem calls, of an answer that returns its error: LADDER_ANSWER(Add, checked<launch>).
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
