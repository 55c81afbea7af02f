// SPDX-License-Identifier: Apache-2.0
//
// Kernels that must end with a launch failure and a message, never hang.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

constexpr unsigned kAll = 0xffffffffu;

__global__ void two_barriers(int* out) {
  if (threadIdx.x < 32) {
    *out = 1;
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void barrier_and_shuffle(int* out) {
  if (threadIdx.x == 3) __syncthreads();
  out[threadIdx.x] = __shfl_sync(kAll, 1, 0);
}

__global__ void wrong_mask(int* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0);
}

__global__ void different_masks(int* out) {
  const unsigned mask = threadIdx.x == 5 ? 0x0000ffffu : kAll;
  out[threadIdx.x] = __shfl_sync(mask, 1, 0);
}

__global__ void grid_sync_without_cooperation() {
  cooperative_groups::this_grid().sync();
}

__global__ void trap(int* out) {
  if (threadIdx.x == 2) __trap();
  out[threadIdx.x] = 1;
}

// Leaves early: allowed, threads that ended are not waited for.
__global__ void early_exit(int* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  out[threadIdx.x] = __reduce_add_sync(kAll, 1);
}

extern "C" cudaError_t run_fault(int* out, int which) {
  switch (which) {
    case 0:
      two_barriers<<<1, 64>>>(out);
      break;
    case 1:
      barrier_and_shuffle<<<1, 32>>>(out);
      break;
    case 2:
      wrong_mask<<<1, 32>>>(out);
      break;
    case 3:
      different_masks<<<1, 32>>>(out);
      break;
    case 4:
      grid_sync_without_cooperation<<<1, 32>>>();
      break;
    case 5:
      trap<<<3, 32>>>(out);
      break;
    case 6:
      early_exit<<<1, 64>>>(out);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  const cudaError_t error = cudaDeviceSynchronize();
  // A failed launch stays failed.
  return error && cudaGetLastError() == error && cudaGetLastError() != error ? cudaErrorUnknown : error;
}
