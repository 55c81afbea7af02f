// SPDX-License-Identifier: Apache-2.0
//
// CUDA's names for errors and for what the device is.
#include <cstring>

#include "api.h"
#include "error_text.h"

using namespace pkb::hostcuda;

namespace {

constexpr int kVersion = 12000;  // what candidates may expect of the API
constexpr int kSharedPerBlock = 48 << 10;
constexpr int kReservedShared = 1 << 10;
constexpr int kRegisters = 64 << 10;
constexpr int kConstantBytes = 64 << 10;

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : fail_with(ErrorCode::invalid_device, "the host device has number 0 only");
}

}  // namespace

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  take_last_error();
  return error;
}

cudaError_t cudaPeekAtLastError() {
  if (!Engine::instance().failure().empty()) return cudaErrorLaunchFailure;
  return static_cast<cudaError_t>(peek_last_error().code);
}

const char* cudaGetErrorName(cudaError_t error) {
  return error_name(error);
}
const char* cudaGetErrorString(cudaError_t error) {
  return error_description(error);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return check_device(device);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t error = check_device(device)) return error;
  const Facts& facts = Engine::instance().facts();
  const int shared = static_cast<int>(facts.shared_bytes_per_block);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      *value = 1024;
      return cudaSuccess;
    case cudaDevAttrMaxBlockDimZ:
      *value = 64;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
      *value = 2147483647;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = 65535;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedPerBlock;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = shared;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = shared + kReservedShared;
      return cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = kReservedShared;
      return cudaSuccess;
    case cudaDevAttrTotalConstantMemory:
      *value = kConstantBytes;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = facts.warp_size;
      return cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = kRegisters;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = facts.sm_count;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      return cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = 32;
      return cudaSuccess;
    case cudaDevAttrL2CacheSize:
      *value = static_cast<int>(facts.l2_bytes);
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = facts.cc_major;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = facts.cc_minor;
      return cudaSuccess;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = 1'000'000;
      return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 64;
      return cudaSuccess;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrIntegrated:
      *value = 1;
      return cudaSuccess;
    case cudaDevAttrComputeMode:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrMaxPersistingL2CacheSize:
      *value = 0;
      return cudaSuccess;
  }
  return fail_with(ErrorCode::invalid_value, "cudaDeviceGetAttribute: attribute " + std::to_string(attribute));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = check_device(device)) return error;
  const Facts& facts = Engine::instance().facts();
  *properties = {};
  std::strcpy(properties->name, "pkb host device");
  std::size_t free = 0;
  cudaMemGetInfo(&free, &properties->totalGlobalMem);
  const auto shared = static_cast<std::size_t>(facts.shared_bytes_per_block);
  properties->sharedMemPerBlock = kSharedPerBlock;
  properties->sharedMemPerBlockOptin = shared;
  properties->sharedMemPerMultiprocessor = shared + kReservedShared;
  properties->reservedSharedMemPerBlock = kReservedShared;
  properties->totalConstMem = kConstantBytes;
  properties->regsPerBlock = properties->regsPerMultiprocessor = kRegisters;
  properties->warpSize = facts.warp_size;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->clockRate = properties->memoryClockRate = 1'000'000;
  properties->memoryBusWidth = 64;
  properties->major = facts.cc_major;
  properties->minor = facts.cc_minor;
  properties->multiProcessorCount = facts.sm_count;
  properties->l2CacheSize = static_cast<int>(facts.l2_bytes);
  properties->integrated = properties->canMapHostMemory = properties->concurrentKernels = 1;
  properties->asyncEngineCount = properties->unifiedAddressing = properties->managedMemory = 1;
  properties->cooperativeLaunch = properties->hostNativeAtomicSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Engine::instance().synchronize();
  return after_waiting();
}
cudaError_t cudaDeviceReset() {
  return cudaDeviceSynchronize();
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;  // there is one device
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return check_device(peer);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
  *value = 0;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}
