// SPDX-License-Identifier: Apache-2.0
#include "device/host_device.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "core/error.h"
#include "device/host_data.h"
#include "hostcuda/runtime.h"

namespace pkb {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t rounded_up(std::size_t bytes) {
  return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

/// The value of a "key : value" line of a file below /proc; empty when there is none.
std::string value_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? "" : line.substr(first);
  }
  return "";
}

/// A number that is alone in a file ("max" and missing files: -1).
int64_t number_in(const char* path) {
  std::ifstream file(path);
  int64_t value = -1;
  return file >> value ? value : -1;
}

int64_t memory_of_machine(std::string_view key) {
  return std::strtoll(value_in("/proc/meminfo", key).c_str(), nullptr, 10) * 1024;  // "16303428 kB"
}

/// A container's limit (cgroup 2), or the machine's memory.
int64_t total_memory() {
  const int64_t machine = memory_of_machine("MemTotal");
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  return limit > 0 ? std::min(limit, machine) : machine;
}

int64_t available_memory() {
  const int64_t machine = memory_of_machine("MemAvailable");
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  return limit > 0 && used >= 0 ? std::clamp<int64_t>(limit - used, 0, machine) : machine;
}

/// The same for all ranks of a machine, different on other machines.
std::string machine_id() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  return fmt::format("{}-{}", host, boot_id);
}

std::string kernel_version() {
  utsname names{};
  uname(&names);
  return fmt::format("{} {}", names.sysname, names.release);
}

DeviceFacts host_facts() {
  const hostcuda::Facts runtime = hostcuda::facts();
  DeviceFacts facts;
  facts.kind = DeviceKind::host;
  facts.name = value_in("/proc/cpuinfo", "model name");
  if (facts.name.empty()) facts.name = "CPU";  // not every architecture names its model there
  facts.uuid = machine_id();
  facts.sm_count = runtime.sm_count;
  facts.cc_major = runtime.cc_major;
  facts.cc_minor = runtime.cc_minor;
  facts.warp_size = runtime.warp_size;
  facts.l2_bytes = runtime.l2_bytes;
  facts.shared_bytes_per_block = runtime.shared_bytes_per_block;
  facts.total_bytes = total_memory();
  facts.driver = kernel_version();
  facts.runtime = "host_cuda";
  return facts;
}

MemoryHandle handle_of(const SharedMemory& memory, std::size_t bytes) {
  MemoryHandle handle;
  if (memory.name().size() >= handle.payload.size()) {
    throw Error("shared memory: the name " + memory.name() + " is too long for a handle");
  }
  handle.kind = MemoryHandle::Kind::posix_shm;
  handle.bytes = bytes;
  memory.name().copy(handle.payload.data(), memory.name().size());
  return handle;
}

std::string name_in(const MemoryHandle& handle) {
  return std::string(handle.payload.data(), strnlen(handle.payload.data(), handle.payload.size()));
}

std::atomic_ref<uint32_t> slot(void* pad, std::size_t member) {
  return std::atomic_ref(*reinterpret_cast<uint32_t*>(static_cast<std::byte*>(pad) + 8 * member));
}

}  // namespace

void align_members(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out) {
  using Clock = std::chrono::steady_clock;
  constexpr int kYields = 200;
  const std::size_t own = static_cast<std::size_t>(self);
  for (void* pad : pads) slot(pad, own).store(epoch, std::memory_order_release);
  const Clock::time_point deadline = Clock::now() + std::chrono::nanoseconds(timeout_ns);
  int tries = 0;
  for (std::size_t member = 0; member < pads.size(); ++member) {
    // The difference is signed: a member may be a call ahead, and epochs wrap.
    while (static_cast<int32_t>(slot(pads[own], member).load(std::memory_order_acquire) - epoch) < 0) {
      if (Clock::now() > deadline) {
        std::atomic_ref(*timed_out).store(1);
        return;
      }
      if (++tries <= kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }
}

HostDevice::HostDevice(std::string_view name_prefix) : facts_(host_facts()), name_prefix_(name_prefix) {
  if (name_prefix.find('/') != std::string_view::npos) {
    throw Error(fmt::format("host device: a name of shared memory cannot hold a slash: '{}'", name_prefix));
  }
}

HostDevice::~HostDevice() {
  for (const Imports::Mapping& mapping : imports_.mappings()) unmap_shared_memory(mapping.base, mapping.handle.bytes);
}

int64_t HostDevice::free_bytes() {
  const int64_t shared = free_shared_memory();
  return shared < 0 ? available_memory() : std::min(available_memory(), shared);
}

void* HostDevice::allocate(std::size_t bytes) {
  void* data = std::aligned_alloc(kAlignment, rounded_up(bytes));
  if (data == nullptr) throw Error(fmt::format("host device: out of memory, {} bytes asked for", bytes));
  return data;
}

void HostDevice::free(void* data) {
  synchronize();  // as cudaFree: enqueued work may still use it
  std::free(data);
}

void* HostDevice::allocate_shared(std::size_t bytes, MemoryHandle& handle) {
  const std::size_t rounded = rounded_up(bytes);
  SharedMemory memory(name_prefix_, counter_, rounded);
  handle = handle_of(memory, rounded);
  void* data = memory.data();
  shared_.emplace(data, std::move(memory));
  return data;
}

SharedMemory& HostDevice::shared(void* data, const char* call) {
  const auto found = shared_.find(data);
  if (found == shared_.end()) throw Error(fmt::format("{}: not an address that allocate_shared returned", call));
  return found->second;
}

void HostDevice::free_shared(void* data) {
  shared(data, "free_shared");
  synchronize();
  shared_.erase(data);
}

void HostDevice::all_opened(void* data) {
  shared(data, "all_opened").unlink();
}

void* HostDevice::open(const MemoryHandle& handle) {
  if (handle.kind != MemoryHandle::Kind::posix_shm) throw Error("open: the host device opens shared memory only");
  const std::string name = name_in(handle);
  for (const auto& [data, memory] : shared_) {
    if (memory.name() == name) throw Error("open: " + name + " is this process's own memory");
  }
  return imports_.open(handle, [&] { return map_shared_memory(name, handle.bytes); });
}

void HostDevice::close(void* data) {
  synchronize();
  imports_.close(data,
                 [](const Imports::Mapping& mapping) { unmap_shared_memory(mapping.base, mapping.handle.bytes); });
}

void HostDevice::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  hostcuda::copy_async(destination, source, bytes, stream.native);
}

void HostDevice::fill_bytes(void* data, int value, std::size_t bytes, Stream stream) {
  hostcuda::fill_async(data, value, bytes, stream.native);
}

Stream HostDevice::create_stream() {
  return {hostcuda::stream_create()};
}
void HostDevice::destroy(Stream stream) {
  hostcuda::stream_destroy(stream.native);
}
void HostDevice::synchronize(Stream stream) {
  hostcuda::stream_synchronize(stream.native);
}
void HostDevice::synchronize() {
  hostcuda::device_synchronize();
}
Event HostDevice::create_event() {
  return {hostcuda::event_create()};
}
void HostDevice::destroy(Event event) {
  hostcuda::event_destroy(event.native);
}
void HostDevice::record(Event event, Stream stream) {
  hostcuda::event_record(event.native, stream.native);
}
void HostDevice::synchronize(Event event) {
  hostcuda::event_synchronize(event.native);
}
double HostDevice::elapsed_us(Event start, Event stop) {
  return hostcuda::event_elapsed_us(start.native, stop.native);
}

std::string HostDevice::why_no_graphs() const {
  return "the host device has no graphs";
}
void HostDevice::begin_capture(Stream) {
  throw Error(why_no_graphs());
}
Graph HostDevice::end_capture(Stream) {
  throw Error(why_no_graphs());
}
void HostDevice::launch(Graph, Stream) {
  throw Error(why_no_graphs());
}
std::string HostDevice::take_error() {
  return hostcuda::take_error();
}

void HostDevice::barrier(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out,
                         Stream stream) {
  hostcuda::enqueue(stream.native, [pads = std::vector<void*>(pads.begin(), pads.end()), self, epoch, timeout_ns,
                                    timed_out] { align_members(pads, self, epoch, timeout_ns, timed_out); });
}

void HostDevice::spin(int64_t nanoseconds, Stream stream) {
  hostcuda::enqueue(stream.native,
                    [nanoseconds] { std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds)); });
}

void HostDevice::draw(void* data, Dtype dtype, int64_t elements, Slice slice, DrawKey key, Distribution distribution,
                      double a, double b, Stream stream) {
  if (elements <= 0) return;
  const DrawPlan plan = plan_draw(dtype, slice, key, distribution, a, b);
  hostcuda::enqueue(stream.native, [=] { host::draw(data, dtype, elements, plan); });
}

void HostDevice::poison(void* data, Dtype dtype, int64_t elements, DrawKey key, Stream stream) {
  if (elements <= 0) return;
  hostcuda::enqueue(stream.native, [=] { host::poison(data, dtype, elements, poison_key(key), key.draw); });
}

uint64_t HostDevice::hash(const void* data, std::size_t bytes, Stream stream) {
  synchronize(stream);
  return host::hash(data, bytes);
}

Device::Comparison HostDevice::compare(const void* got, const void* expected, Dtype dtype, int64_t elements,
                                       CompareRule rule, Stream stream) {
  synchronize(stream);
  return host::compare(got, expected, dtype, elements, rule);
}

}  // namespace pkb
