// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <mma.h>

__global__ void empty() {}
