// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "device/device.h"
#include "device/imports.h"
#include "device/shared_memory.h"

namespace pkb {

/// CPU cores as a device. Device memory is the process's memory, memory for other processes POSIX shared memory; work
/// runs in stream order on the threads of host_cuda's runtime.
class HostDevice final : public Device {
 public:
  explicit HostDevice(std::string_view name_prefix);
  ~HostDevice() override;

  DeviceKind kind() const override { return DeviceKind::host; }
  const DeviceFacts& facts() const override { return facts_; }
  /// What is free for both private memory and /dev/shm, so that sizes derived from it fit in either.
  int64_t free_bytes() override;

  void* allocate(std::size_t bytes) override;
  void free(void* data) override;
  void* allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
  void free_pinned(void* data) override { free(data); }
  void* allocate_shared(std::size_t bytes, MemoryHandle& handle) override;
  void free_shared(void* data) override;
  void all_opened(void* data) override;
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
  std::string why_no_graphs() const override;
  void begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  void launch(Graph graph, Stream stream) override;
  void destroy(Graph) override {}
  void abandon_capture(Stream) override {}
  std::string take_error() override;
  void reset_persisting_l2() override {}

  void barrier(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out,
               Stream stream) override;
  void flush_l2(Stream) override {}  ///< nothing: times on cores that the system shares out are no benchmark
  void spin(int64_t nanoseconds, Stream stream) override;

  void draw(void* data, Dtype dtype, int64_t elements, Slice slice, DrawKey key, Distribution distribution, double a,
            double b, Stream stream) override;
  void poison(void* data, Dtype dtype, int64_t elements, DrawKey key, Stream stream) override;
  uint64_t hash(const void* data, std::size_t bytes, Stream stream) override;
  Comparison compare(const void* got, const void* expected, Dtype dtype, int64_t elements, CompareRule rule,
                     Stream stream) override;

 private:
  SharedMemory& shared(void* data, const char* call);

  DeviceFacts facts_;
  std::string name_prefix_;
  uint64_t counter_ = 0;  // of shared-memory names
  std::map<void*, SharedMemory> shared_;
  Imports imports_;
};

/// Aligns members as Device::barrier says, in the calling thread. Yields at first and then sleeps: members may be more
/// than cores.
void align_members(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out);

}  // namespace pkb
