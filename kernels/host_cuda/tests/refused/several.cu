// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void child() {}
__global__ void parent() {
  child<<<1, 1>>>();
}

__shared__ int outside[4];

texture<float, 1> picture;

__global__ void __cluster_dims__(2, 1, 1) clustered() {}
