// SPDX-License-Identifier: Apache-2.0
//
// CUDA's names for memory. All memory is ordinary memory of this process; what differs is when a copy happens.
#include <sys/sysinfo.h>

#include <cstring>
#include <utility>
#include <vector>

#include "api.h"
#include "memory_registry.h"

using namespace pkb::hostcuda;

namespace {

constexpr std::size_t kStagedBytes = 64 << 10;

cudaError_t allocate(void** pointer, std::size_t bytes, MemoryKind kind, const char* call) {
  if (pointer == nullptr) return fail_with(ErrorCode::invalid_value, std::string(call) + ": null pointer");
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = MemoryRegistry::instance().allocate(bytes, kind);
  if (*pointer != nullptr) return cudaSuccess;
  return fail_with(ErrorCode::memory_allocation, std::string(call) + " of " + std::to_string(bytes) + " bytes");
}

cudaError_t release(void* pointer, MemoryKind kind, const char* call) {
  if (pointer == nullptr) return cudaSuccess;
  Engine::instance().synchronize();  // as on a GPU, nothing that may use it is left running
  MemoryRegistry& registry = MemoryRegistry::instance();
  if (registry.release(pointer, kind)) return after_waiting();
  if (kind == MemoryKind::device && registry.release(pointer, MemoryKind::managed)) return after_waiting();
  return fail_with(ErrorCode::invalid_value, std::string(call) + ": not an allocation of this kind");
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  if (kind > cudaMemcpyDefault) return fail_with(ErrorCode::invalid_value, "cudaMemcpy: unknown direction");
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return fail_with(ErrorCode::invalid_value, "cudaMemcpy: null pointer");
  return on_stream(handle, [&](const auto& stream) {
    // Small pageable sources are staged before the call returns; candidates copy from local variables and rely on it.
    if (kind == cudaMemcpyHostToDevice && bytes <= kStagedBytes &&
        MemoryRegistry::instance().kind_of(from) == MemoryKind::unregistered) {
      const auto* const first = static_cast<const char*>(from);
      Engine::instance().enqueue(stream, [to, staged = std::vector<char>(first, first + bytes)] {
        std::memcpy(to, staged.data(), staged.size());
      });
    } else {
      Engine::instance().enqueue(stream, [=] { std::memmove(to, from, bytes); });
    }
    return cudaSuccess;
  });
}

// The forms without "Async" run on the default stream and wait.
cudaError_t wait_after(cudaError_t enqueued) {
  return enqueued == cudaSuccess ? cudaStreamSynchronize(nullptr) : enqueued;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::device, "cudaMalloc");
}
cudaError_t cudaFree(void* pointer) {
  return release(pointer, MemoryKind::device, "cudaFree");
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) {
  return allocate(pointer, bytes, MemoryKind::device, "cudaMallocAsync");
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  if (pointer != nullptr && MemoryRegistry::instance().kind_of(pointer) != MemoryKind::device) {
    return fail_with(ErrorCode::invalid_value, "cudaFreeAsync: not device memory");
  }
  return on_stream(handle, [&](const auto& stream) {
    Engine::instance().enqueue(stream, [=] { MemoryRegistry::instance().release(pointer, MemoryKind::device); });
    return cudaSuccess;
  });
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes, MemoryKind::managed, "cudaMallocManaged");
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes, MemoryKind::pinned, "cudaHostAlloc");
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes, MemoryKind::pinned, "cudaMallocHost");
}
cudaError_t cudaFreeHost(void* pointer) {
  return release(pointer, MemoryKind::pinned, "cudaFreeHost");
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  if (MemoryRegistry::instance().add(pointer, bytes)) return cudaSuccess;
  return fail_with(ErrorCode::invalid_value, "cudaHostRegister: already registered");
}
cudaError_t cudaHostUnregister(void* pointer) {
  if (MemoryRegistry::instance().remove(pointer)) return cudaSuccess;
  return fail_with(ErrorCode::invalid_value, "cudaHostUnregister: not registered");
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, const_cast<void*>(pointer)};
  switch (MemoryRegistry::instance().kind_of(pointer)) {
    case MemoryKind::unregistered:
      return cudaSuccess;
    case MemoryKind::device:
      attributes->type = cudaMemoryTypeDevice;
      attributes->hostPointer = nullptr;
      break;
    case MemoryKind::managed:
      attributes->type = cudaMemoryTypeManaged;
      break;
    case MemoryKind::pinned:
    case MemoryKind::registered:
      attributes->type = cudaMemoryTypeHost;
      break;
  }
  attributes->devicePointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, bytes, kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return wait_after(copy(to, from, bytes, kind, nullptr));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream) {
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return wait_after(copy(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr));
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t handle) {
  if (kind > cudaMemcpyDefault || width > to_pitch || width > from_pitch) {
    return fail_with(ErrorCode::invalid_value, "cudaMemcpy2D: unknown direction, or rows wider than their pitch");
  }
  return on_stream(handle, [&](const auto& stream) {
    Engine::instance().enqueue(stream, [=] {
      for (std::size_t row = 0; row < height; ++row) {
        std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
      }
    });
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  return wait_after(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr));
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t handle) {
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr) return fail_with(ErrorCode::invalid_value, "cudaMemset: null pointer");
  return on_stream(handle, [&](const auto& stream) {
    Engine::instance().enqueue(stream, [=] { std::memset(to, value, bytes); });
    return cudaSuccess;
  });
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return wait_after(cudaMemsetAsync(to, value, bytes, nullptr));
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return fail_with(ErrorCode::not_supported, "cudaMemGetInfo");
  *free = static_cast<std::size_t>(info.freeram) * info.mem_unit;
  *total = static_cast<std::size_t>(info.totalram) * info.mem_unit;
  return cudaSuccess;
}
