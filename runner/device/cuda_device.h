// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>

#include "device/cuda_kernels.h"
#include "device/device.h"
#include "device/imports.h"

namespace pkb {

/// One GPU, through the CUDA runtime. Memory for other processes is legacy CUDA IPC: every shared buffer is an
/// allocation of its own, so a handle exposes nothing else.
class CudaDevice final : public Device {
 public:
  /// Makes the GPU the calling thread's current one.
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::cuda; }
  const DeviceFacts& facts() const override { return facts_; }
  int64_t free_bytes() override;

  void* allocate(std::size_t bytes) override;
  void free(void* data) override;
  void* allocate_pinned(std::size_t bytes) override;
  void free_pinned(void* data) override;
  void* allocate_shared(std::size_t bytes, MemoryHandle& handle) override;
  void free_shared(void* data) override;
  void all_opened(void*) override {}
  void* open(const MemoryHandle& handle) override;
  void close(void* data) override;
  void copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;
  void fill_bytes(void* data, int value, std::size_t bytes, Stream stream) override;

  Stream create_stream() override;
  void destroy(Stream stream) override;
  void synchronize(Stream stream) override;
  void synchronize() override;
  Event create_event() override;
  void destroy(Event event) override;
  void record(Event event, Stream stream) override;
  void synchronize(Event event) override;
  double elapsed_us(Event start, Event stop) override;
  std::string why_no_graphs() const override { return ""; }
  void begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  void launch(Graph graph, Stream stream) override;
  void destroy(Graph graph) override;
  void abandon_capture(Stream stream) override;
  std::string take_error() override;
  void reset_persisting_l2() override;

  /// Throws Error for more than cuda::kMaximumMembers pads.
  void barrier(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out,
               Stream stream) override;
  void flush_l2(Stream stream) override;
  void spin(int64_t nanoseconds, Stream stream) override;

  void draw(void* data, Dtype dtype, int64_t elements, Slice slice, DrawKey key, Distribution distribution, double a,
            double b, Stream stream) override;
  void poison(void* data, Dtype dtype, int64_t elements, DrawKey key, Stream stream) override;
  uint64_t hash(const void* data, std::size_t bytes, Stream stream) override;
  Comparison compare(const void* got, const void* expected, Dtype dtype, int64_t elements, CompareRule rule,
                     Stream stream) override;

 private:
  // Errors at the end of a process are not worth a word: the driver frees what is left.
  struct FreeDevice {
    void operator()(void* data) const { static_cast<void>(cudaFree(data)); }
  };
  struct FreePinned {
    void operator()(void* data) const { static_cast<void>(cudaFreeHost(data)); }
  };
  using DeviceMemory = std::unique_ptr<void, FreeDevice>;
  using PinnedMemory = std::unique_ptr<void, FreePinned>;

  void make_reduction_space();

  DeviceFacts facts_;
  std::map<void*, MemoryHandle> shared_;
  Imports imports_;
  DeviceMemory reduction_memory_;
  PinnedMemory reduction_result_;
  cuda::ReductionSpace reduction_{};
  DeviceMemory flush_memory_;  // made by the first flush
  std::size_t flush_bytes_ = 0;
  int flush_value_ = 0;
};

}  // namespace pkb
