// SPDX-License-Identifier: Apache-2.0
//
// Streams and events as candidates use them, and a barrier-heavy kernel to measure.
#include <cuda_runtime.h>

__global__ void append(int* list, int value) {
  const int at = list[0];
  list[1 + at] = value;
  list[0] = at + 1;
}

__global__ void hold(volatile int* gate) {
  while (*gate == 0) {
  }
}

__global__ void many_barriers(float* x, int rounds) {
  __shared__ float cells[256];
  const int t = threadIdx.x;
  cells[t] = x[t];
  for (int i = 0; i < rounds; ++i) {
    __syncthreads();
    cells[t] += 1;
  }
  x[t] = cells[t];
}

extern "C" void launch_append(int* list, int value, void* stream) {
  append<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(list, value);
}

extern "C" void launch_hold(int* gate, void* stream) {
  hold<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(gate);
}

extern "C" cudaError_t run_many_barriers(float* x, int blocks, int rounds) {
  many_barriers<<<blocks, 256>>>(x, rounds);
  return cudaDeviceSynchronize();
}

// A fork and join over two streams, with copies and a host function; returns 0, or the number of the step that failed.
extern "C" int run_fork_join(int* out) {
  int* list = nullptr;
  cudaStream_t a, b;
  cudaEvent_t forked, joined, end;
  if (cudaMalloc(&list, 64 * sizeof(int))) return 1;
  if (cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) ||
      cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1))
    return 2;
  if (cudaEventCreateWithFlags(&forked, cudaEventDisableTiming) || cudaEventCreate(&joined) || cudaEventCreate(&end))
    return 3;
  if (cudaMemsetAsync(list, 0, 64 * sizeof(int), a)) return 4;
  for (int i = 0; i < 5; ++i) append<<<1, 1, 0, a>>>(list, i);
  if (cudaEventRecord(forked, a) || cudaStreamWaitEvent(b, forked, 0)) return 5;
  for (int i = 5; i < 10; ++i) append<<<1, 1, 0, b>>>(list, i);
  if (cudaEventRecord(joined, b) || cudaStreamWaitEvent(a, joined)) return 6;
  int ten = 10;
  if (cudaMemcpyAsync(list + 40, &ten, sizeof ten, cudaMemcpyHostToDevice, a)) return 7;
  ten = 11;  // pageable and small: staged already
  if (cudaMemcpyAsync(list + 11, list + 40, sizeof(int), cudaMemcpyDeviceToDevice, a)) return 8;
  if (cudaLaunchHostFunc(
          a, [](void* data) { *static_cast<int*>(data) = 77; }, list + 12))
    return 9;
  if (cudaEventRecord(end, a) || cudaEventSynchronize(end)) return 10;
  float milliseconds = -1;
  if (cudaEventElapsedTime(&milliseconds, joined, end) || milliseconds < 0) return 11;
  if (cudaEventElapsedTime(&milliseconds, forked, end) == cudaSuccess) return 12;
  cudaGetLastError();
  if (cudaMemcpy(out, list, 64 * sizeof(int), cudaMemcpyDeviceToHost)) return 13;
  if (cudaStreamQuery(a) || cudaEventQuery(end)) return 14;
  if (cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) != cudaErrorNotSupported) return 15;
  if (cudaGetLastError() != cudaErrorNotSupported || cudaGetLastError() != cudaSuccess) return 16;
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaEventDestroy(forked);
  cudaEventDestroy(joined);
  cudaEventDestroy(end);
  if (cudaStreamSynchronize(a) != cudaErrorInvalidResourceHandle) return 17;
  cudaGetLastError();
  return cudaFree(list) ? 18 : 0;
}
