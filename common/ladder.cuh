// The one header of a problem or a step: CUDA helpers and the problem interface. Kept light, for it is compiled with
// every step.
#pragma once
#include "cuda_helpers.cuh"
#include "problem.hpp"
