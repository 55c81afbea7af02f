// SPDX-License-Identifier: Apache-2.0
//
// CUDA's runtime API on the host device. Every function has a symbol name of its own, so that a process may hold the
// real CUDA runtime too. What is not here does not compile; what is here and returns cudaErrorNotSupported exists so
// that a candidate can ask.
#pragma once

#include "hostcuda/cuda/driver_types.h"

#define PKB_HOSTCUDA_SYMBOL(name) __asm__("pkb_hostcuda_" #name)

// Errors
cudaError_t cudaGetLastError() PKB_HOSTCUDA_SYMBOL(cudaGetLastError);
cudaError_t cudaPeekAtLastError() PKB_HOSTCUDA_SYMBOL(cudaPeekAtLastError);
const char* cudaGetErrorName(cudaError_t) PKB_HOSTCUDA_SYMBOL(cudaGetErrorName);
const char* cudaGetErrorString(cudaError_t) PKB_HOSTCUDA_SYMBOL(cudaGetErrorString);

// The device
cudaError_t cudaGetDeviceCount(int* count) PKB_HOSTCUDA_SYMBOL(cudaGetDeviceCount);
cudaError_t cudaGetDevice(int* device) PKB_HOSTCUDA_SYMBOL(cudaGetDevice);
cudaError_t cudaSetDevice(int device) PKB_HOSTCUDA_SYMBOL(cudaSetDevice);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int device) PKB_HOSTCUDA_SYMBOL(cudaGetDeviceProperties);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device) PKB_HOSTCUDA_SYMBOL(cudaDeviceGetAttribute);
cudaError_t cudaDeviceSynchronize() PKB_HOSTCUDA_SYMBOL(cudaDeviceSynchronize);
cudaError_t cudaDeviceReset() PKB_HOSTCUDA_SYMBOL(cudaDeviceReset);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) PKB_HOSTCUDA_SYMBOL(cudaDeviceCanAccessPeer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) PKB_HOSTCUDA_SYMBOL(cudaDeviceEnablePeerAccess);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest)
    PKB_HOSTCUDA_SYMBOL(cudaDeviceGetStreamPriorityRange);
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) PKB_HOSTCUDA_SYMBOL(cudaDeviceSetLimit);
cudaError_t cudaDeviceGetLimit(size_t*, cudaLimit) PKB_HOSTCUDA_SYMBOL(cudaDeviceGetLimit);
cudaError_t cudaDriverGetVersion(int* version) PKB_HOSTCUDA_SYMBOL(cudaDriverGetVersion);
cudaError_t cudaRuntimeGetVersion(int* version) PKB_HOSTCUDA_SYMBOL(cudaRuntimeGetVersion);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) PKB_HOSTCUDA_SYMBOL(cudaMemGetInfo);

// Memory
cudaError_t cudaMalloc(void** pointer, size_t bytes) PKB_HOSTCUDA_SYMBOL(cudaMalloc);
cudaError_t cudaFree(void* pointer) PKB_HOSTCUDA_SYMBOL(cudaFree);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) PKB_HOSTCUDA_SYMBOL(cudaMallocAsync);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) PKB_HOSTCUDA_SYMBOL(cudaFreeAsync);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags = cudaMemAttachGlobal)
    PKB_HOSTCUDA_SYMBOL(cudaMallocManaged);
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) PKB_HOSTCUDA_SYMBOL(cudaHostAlloc);
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned flags = 0) PKB_HOSTCUDA_SYMBOL(cudaMallocHost);
cudaError_t cudaFreeHost(void* pointer) PKB_HOSTCUDA_SYMBOL(cudaFreeHost);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) PKB_HOSTCUDA_SYMBOL(cudaHostRegister);
cudaError_t cudaHostUnregister(void* pointer) PKB_HOSTCUDA_SYMBOL(cudaHostUnregister);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags)
    PKB_HOSTCUDA_SYMBOL(cudaHostGetDevicePointer);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void* pointer)
    PKB_HOSTCUDA_SYMBOL(cudaPointerGetAttributes);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) PKB_HOSTCUDA_SYMBOL(cudaMemcpy);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t = nullptr)
    PKB_HOSTCUDA_SYMBOL(cudaMemcpyAsync);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes)
    PKB_HOSTCUDA_SYMBOL(cudaMemcpyPeer);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t = nullptr) PKB_HOSTCUDA_SYMBOL(cudaMemcpyPeerAsync);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind) PKB_HOSTCUDA_SYMBOL(cudaMemcpy2D);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind, cudaStream_t = nullptr)
    PKB_HOSTCUDA_SYMBOL(cudaMemcpy2DAsync);
cudaError_t cudaMemset(void* to, int value, size_t bytes) PKB_HOSTCUDA_SYMBOL(cudaMemset);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t = nullptr)
    PKB_HOSTCUDA_SYMBOL(cudaMemsetAsync);

// Streams
cudaError_t cudaStreamCreate(cudaStream_t*) PKB_HOSTCUDA_SYMBOL(cudaStreamCreate);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags) PKB_HOSTCUDA_SYMBOL(cudaStreamCreateWithFlags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned flags, int priority)
    PKB_HOSTCUDA_SYMBOL(cudaStreamCreateWithPriority);
cudaError_t cudaStreamDestroy(cudaStream_t) PKB_HOSTCUDA_SYMBOL(cudaStreamDestroy);
cudaError_t cudaStreamSynchronize(cudaStream_t) PKB_HOSTCUDA_SYMBOL(cudaStreamSynchronize);
cudaError_t cudaStreamQuery(cudaStream_t) PKB_HOSTCUDA_SYMBOL(cudaStreamQuery);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags = 0) PKB_HOSTCUDA_SYMBOL(cudaStreamWaitEvent);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void* user_data) PKB_HOSTCUDA_SYMBOL(cudaLaunchHostFunc);
cudaError_t cudaStreamAddCallback(cudaStream_t, cudaStreamCallback_t, void* user_data, unsigned flags)
    PKB_HOSTCUDA_SYMBOL(cudaStreamAddCallback);

// Events
cudaError_t cudaEventCreate(cudaEvent_t*) PKB_HOSTCUDA_SYMBOL(cudaEventCreate);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags) PKB_HOSTCUDA_SYMBOL(cudaEventCreateWithFlags);
cudaError_t cudaEventDestroy(cudaEvent_t) PKB_HOSTCUDA_SYMBOL(cudaEventDestroy);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) PKB_HOSTCUDA_SYMBOL(cudaEventRecord);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t = nullptr, unsigned flags = 0)
    PKB_HOSTCUDA_SYMBOL(cudaEventRecordWithFlags);
cudaError_t cudaEventSynchronize(cudaEvent_t) PKB_HOSTCUDA_SYMBOL(cudaEventSynchronize);
cudaError_t cudaEventQuery(cudaEvent_t) PKB_HOSTCUDA_SYMBOL(cudaEventQuery);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop)
    PKB_HOSTCUDA_SYMBOL(cudaEventElapsedTime);

// Stream capture: not on this device.
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) PKB_HOSTCUDA_SYMBOL(cudaStreamBeginCapture);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) PKB_HOSTCUDA_SYMBOL(cudaStreamEndCapture);
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus*) PKB_HOSTCUDA_SYMBOL(cudaStreamIsCapturing);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags = 0)
    PKB_HOSTCUDA_SYMBOL(cudaGraphInstantiate);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) PKB_HOSTCUDA_SYMBOL(cudaGraphLaunch);
cudaError_t cudaGraphDestroy(cudaGraph_t) PKB_HOSTCUDA_SYMBOL(cudaGraphDestroy);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) PKB_HOSTCUDA_SYMBOL(cudaGraphExecDestroy);

// Kernels by address
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes = 0,
                             cudaStream_t = nullptr) PKB_HOSTCUDA_SYMBOL(cudaLaunchKernel);
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes = 0, cudaStream_t = nullptr)
    PKB_HOSTCUDA_SYMBOL(cudaLaunchCooperativeKernel);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* kernel, void** arguments)
    PKB_HOSTCUDA_SYMBOL(cudaLaunchKernelExC);
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value)
    PKB_HOSTCUDA_SYMBOL(cudaFuncSetAttribute);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void* kernel) PKB_HOSTCUDA_SYMBOL(cudaFuncGetAttributes);
cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache) PKB_HOSTCUDA_SYMBOL(cudaFuncSetCacheConfig);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          size_t shared_bytes)
    PKB_HOSTCUDA_SYMBOL(cudaOccupancyMaxActiveBlocksPerMultiprocessor);

// Typed forms of the C++ API
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned flags = 0) {
  return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

// Symbols are plain variables.
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpy((char*)&symbol + offset, from, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync((char*)&symbol + offset, from, bytes, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpy(to, (const char*)&symbol + offset, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, (const char*)&symbol + offset, bytes, kind, stream);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = (void*)&symbol;
  return cudaSuccess;
}

// Kernels by name
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t shared_bytes = 0,
                             cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes, stream);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes,
                                     stream);
}
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(P...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class... P>
cudaError_t cudaFuncSetCacheConfig(void (*kernel)(P...), cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(P...), int threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel), threads,
                                                       shared_bytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel kernel, int threads,
                                                                   size_t shared_bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel kernel, size_t shared_bytes = 0,
                                               int block_limit = 0) {
  *block = block_limit == 0 ? 1024 : block_limit;
  int per_sm = 0, sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, *block, shared_bytes);
  *grid = per_sm * sms;
  return error;
}
/// The arguments are converted to the kernel's parameters, as in a launch.
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  return [&](P... converted) {
    void* addresses[] = {(void*)&converted..., nullptr};
    return cudaLaunchKernelExC(config, reinterpret_cast<const void*>(kernel), addresses);
  }(static_cast<A&&>(arguments)...);
}
