// Part of cuda_runtime.h here; so a toolkit's header of this name is not found.
#pragma once

#include "cuda_runtime.h"
