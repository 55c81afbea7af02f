// SPDX-License-Identifier: Apache-2.0
//
// The two devices behind one interface: `cuda`, and `host` (CUDA C++ on CPU cores). Used by the worker for the
// candidate's side and by the rank for the trusted side. No CUDA types appear here, so that the host device builds
// without a toolkit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace pkb {

enum class DeviceKind : int32_t { cuda = 0, host = 1 };
std::string_view name_of(DeviceKind kind);

struct DeviceFacts {
  DeviceKind kind = DeviceKind::host;
  int ordinal = 0;
  std::string name;  ///< "NVIDIA H200"; the CPU model on host
  std::string uuid;  ///< of the GPU; on host: host name and rank-independent boot id
  std::string pci;   ///< "0000:1b:00.0"; empty on host
  int sm_count = 0, cc_major = 0, cc_minor = 0, warp_size = 32;
  int64_t l2_bytes = 0, shared_bytes_per_block = 0, total_bytes = 0;
  bool exclusive_process = false;  ///< compute mode forbids the second process
  bool multicast = false;          ///< the hardware offers it
  std::string driver, runtime;     ///< versions
};

/// How another process reaches an allocation. Plain data, so that it can travel in messages.
struct MemoryHandle {
  enum class Kind : int32_t { none = 0, cuda_ipc = 1, posix_shm = 2, posix_fd = 3, fabric = 4 };
  Kind kind = Kind::none;
  uint64_t bytes = 0;               ///< of the allocation
  uint64_t offset = 0;              ///< of the buffer in it
  std::array<char, 128> payload{};  ///< cudaIpcMemHandle_t, or a shared-memory name
};

// Native handles: cudaStream_t, cudaEvent_t, cudaGraphExec_t, or host_cuda's.
struct Stream {
  void* native = nullptr;
};
struct Event {
  void* native = nullptr;
};
struct Graph {
  void* native = nullptr;
};

/// Device facts, memory, streams, events and the harness's own small kernels. Errors throw Error with the call and its
/// text. One object serves one thread.
class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual DeviceKind kind() const = 0;
  virtual const DeviceFacts& facts() const = 0;
  virtual int64_t free_bytes() = 0;

  // Memory. Allocations are 256-byte aligned.
  virtual void* allocate(std::size_t bytes) = 0;  ///< private to this process
  virtual void free(void* data) = 0;
  virtual void* allocate_pinned(std::size_t bytes) = 0;  ///< host memory the device can read
  virtual void free_pinned(void* data) = 0;
  /// An allocation of its own (a multiple of 2 MiB on cuda), zeroed, that `open` of another process can map.
  virtual void* allocate_shared(std::size_t bytes, MemoryHandle& handle) = 0;
  virtual void free_shared(void* data) = 0;
  /// After every importer has opened it: nothing is left behind should this process die (unlinks; on cuda nothing).
  virtual void all_opened(void* data) = 0;
  virtual void* open(const MemoryHandle& handle) = 0;  ///< one open a handle and process; of an own handle: Error
  virtual void close(void* data) = 0;                  ///< of `open`

  /// Any direction, asynchronous.
  virtual void copy(void* destination, const void* source, std::size_t bytes, Stream stream) = 0;
  virtual void fill_bytes(void* data, int value, std::size_t bytes, Stream stream) = 0;

  // Streams, events, graphs.
  virtual Stream create_stream() = 0;  ///< non-blocking with respect to the default stream
  virtual void destroy(Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;
  virtual void synchronize() = 0;  ///< the whole device, this process
  virtual Event create_event() = 0;
  virtual void destroy(Event event) = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void synchronize(Event event) = 0;
  virtual double elapsed_us(Event start, Event stop) = 0;  ///< both done
  /// Null graphs and why: the host device cannot capture.
  virtual std::string why_no_graphs() const = 0;
  virtual void begin_capture(Stream stream) = 0;
  virtual Graph end_capture(Stream stream) = 0;  ///< instantiated
  virtual void launch(Graph graph, Stream stream) = 0;
  virtual void destroy(Graph graph) = 0;
  virtual void abandon_capture(Stream stream) = 0;  ///< after an error inside a capture; ignores errors
  /// Takes the runtime's last error ("" when there is none); does not throw.
  virtual std::string take_error() = 0;
  virtual void reset_persisting_l2() = 0;

  // The harness's own kernels, enqueued on a stream.
  /// Aligns ranks on the device. `pads[i]` is member i's pad (8 bytes per member), `self` this rank's index; `epoch`
  /// must grow by one a call on all members. `timeout_ns` ends the wait (the harness must never hang); on timeout
  /// *timed_out (pinned) is set.
  virtual void barrier(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out,
                       Stream stream) = 0;
  virtual void flush_l2(Stream stream) = 0;                   ///< evicts by writing a private buffer larger than the L2
  virtual void spin(int64_t nanoseconds, Stream stream) = 0;  ///< keeps the stream busy

  // Data. Pointers are addressable by this device (device memory, or pinned).
  struct DrawKey {  ///< names an independent sequence of base draws
    uint64_t seed = 0, stream = 0, draw = 0;
  };
  /// Where the elements of a tensor lie in the tensor they are cut from: element (o, i) of [outer, inner] is global
  /// element first + o * stride + i. A whole tensor of n elements: {0, n, n}.
  struct Slice {
    int64_t first = 0, stride = 0, inner = 0;
  };
  enum class Distribution : int32_t { normal, uniform, integers, ternary, constant };
  /// Base draws (see device/draw.h and device/philox.h): element e depends on key and global element only. parameters:
  /// (mean, sigma), (low, high), (low, high inclusive), (p), (value). The result is rounded once, to nearest even, to
  /// `dtype`.
  virtual void draw(void* data, Dtype dtype, int64_t elements, Slice slice, DrawKey key, Distribution distribution,
                    double a, double b, Stream stream) = 0;
  /// Floating types: NaN bytes (0xFF); others: random bytes from the key.
  virtual void poison(void* data, Dtype dtype, int64_t elements, DrawKey key, Stream stream) = 0;
  /// Synchronises. Position-dependent, 64 bits, the same on both devices.
  virtual uint64_t hash(const void* data, std::size_t bytes, Stream stream) = 0;

  struct Comparison {
    int64_t elements = 0;
    int64_t wrong = 0;
    int64_t first = -1;                        ///< index of the first wrong element
    uint64_t got_bits = 0, expected_bits = 0;  ///< of the first wrong element, the raw element zero-extended
    double max_absolute = 0;                   ///< over elements where both are finite
    double max_relative = 0;
    int64_t not_finite = 0;                               ///< elements where got is NaN or infinite and expected is not
    double squares_difference = 0, squares_expected = 0;  ///< for Frobenius bounds and rms
  };
  /// |got - expected| <= atol + rtol*|expected|; equal infinities are equal, +0 equals -0, an expected NaN must be NaN.
  /// exact: bit patterns, except that floating +0 equals -0 unless `bitwise`. complex64: the magnitude of the
  /// difference decides.
  struct CompareRule {
    double atol = 0, rtol = 0;
    bool bitwise = false;
  };
  /// Synchronises.
  virtual Comparison compare(const void* got, const void* expected, Dtype dtype, int64_t elements, CompareRule rule,
                             Stream stream) = 0;
};

/// How many GPUs this process sees, 0 without a driver or a CUDA build; `why` says what is missing.
int cuda_device_count(std::string& why);

/// Throws UsageError when the device is not there. `name_prefix` names shared-memory objects of this job (host).
std::unique_ptr<Device> make_device(DeviceKind kind, int ordinal, std::string_view name_prefix);

/// Removes shared-memory objects of jobs that are gone (host device); called once a node at start.
void sweep_shared_memory();

}  // namespace pkb
