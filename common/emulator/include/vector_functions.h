// Part of cuda_runtime.h here. This file keeps a toolkit's header of the same name from being found.
#pragma once

#include "cuda_runtime.h"
