// SPDX-License-Identifier: Apache-2.0
//
// Cooperative launches by every name, grid barriers, co-resident blocks that wait for each other, the same across
// streams.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// Passes a value from block to block: round r reads what the left neighbour wrote in round r - 1.
template <typename T>
__global__ void shift_around(T* cells, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int r = 0; r < rounds; ++r) {
    const T left = cells[(blockIdx.x + gridDim.x - 1) % gridDim.x];
    grid.sync();
    if (threadIdx.x == 0) cells[blockIdx.x] = left;
    grid.sync();
  }
}

template <class T>
static cudaError_t launch_shift(T* cells, int rounds, int blocks, int how, cudaStream_t stream) {
  void* arguments[] = {&cells, &rounds};
  switch (how) {
    case 0:
      return cudaLaunchCooperativeKernel((void*)shift_around<T>, dim3(blocks), dim3(64), arguments, 0, stream);
    case 1:
      return cudaLaunchCooperativeKernel(shift_around<T>, blocks, 64, arguments, 0, stream);
    case 2: {
      const void* kernel = reinterpret_cast<const void*>(&shift_around<T>);
      return cudaLaunchCooperativeKernel(kernel, blocks, 64, arguments, 0, stream);
    }
    default: {
      cudaLaunchAttribute attribute{};
      attribute.id = cudaLaunchAttributeCooperative;
      attribute.val.cooperative = 1;
      cudaLaunchConfig_t config{};
      config.gridDim = blocks;
      config.blockDim = 64;
      config.stream = stream;
      config.attrs = &attribute;
      config.numAttrs = 1;
      return cudaLaunchKernelEx(&config, shift_around<T>, cells, rounds);
    }
  }
}

extern "C" cudaError_t run_shift(int* cells, int rounds, int blocks, int how) {
  if (const cudaError_t error = launch_shift(cells, rounds, blocks, how, nullptr)) return error;
  return cudaDeviceSynchronize();
}

// Blocks of an ordinary launch hand a token around by plain volatile reads.
__global__ void relay(volatile int* token) {
  if (threadIdx.x == 0) {
    while (*token != static_cast<int>(blockIdx.x)) {
    }
    *token = static_cast<int>(blockIdx.x) + 1;
  }
}

extern "C" cudaError_t run_relay(int* token, int blocks) {
  relay<<<blocks, 32>>>(token);
  return cudaDeviceSynchronize();
}

// Kernels of two streams that wait for each other.
__global__ void ping(unsigned* flag, unsigned mine, unsigned rounds) {
  for (unsigned r = 0; r < rounds; ++r) {
    do {
    } while (atomicAdd(flag, 0u) != 2 * r + mine);
    __threadfence();
    atomicAdd(flag, 1u);
  }
}

extern "C" cudaError_t run_ping(unsigned* flag, unsigned rounds) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  ping<<<1, 1, 0, b>>>(flag, 1, rounds);
  ping<<<1, 1, 0, a>>>(flag, 0, rounds);
  const cudaError_t first = cudaStreamSynchronize(a), second = cudaStreamSynchronize(b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  return first ? first : second;
}

// Only even blocks come to the barrier.
__global__ void abandoned() {
  if (blockIdx.x % 2 == 0) cg::this_grid().sync();
}

extern "C" cudaError_t run_abandoned() {
  void* none[] = {nullptr};
  cudaLaunchCooperativeKernel((void*)abandoned, 4, 32, none, 0, nullptr);
  return cudaDeviceSynchronize();
}

extern "C" cudaError_t run_too_large(int* cells) {
  return launch_shift(cells, 1, 100000, 0, nullptr);
}
