// SPDX-License-Identifier: Apache-2.0
//
// The driver API's types, for candidates that include it out of habit. Its functions are not there.
#pragma once

#include "hostcuda/cuda/driver_types.h"

#define CUDA_VERSION 12080

typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
