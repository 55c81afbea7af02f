// SPDX-License-Identifier: Apache-2.0
//
// What a candidate's #include <cuda_runtime.h> finds on the host device; also included before every .cu, as nvcc does.
#pragma once

#include "hostcuda/cuda/api.h"
#include "hostcuda/cuda/atomics.h"
#include "hostcuda/cuda/launch.h"
#include "hostcuda/cuda/math.h"
#include "hostcuda/cuda/memory.h"
#include "hostcuda/cuda/qualifiers.h"
#include "hostcuda/cuda/vector_types.h"
#include "hostcuda/cuda/warp.h"
