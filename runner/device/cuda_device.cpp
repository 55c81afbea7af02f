// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_device.h"

#include <cuda.h>  // types and attribute names; the driver itself is reached through the runtime, never linked
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/error.h"

namespace pkb {
namespace {

constexpr std::size_t kSharedGranule = 2 << 20;

std::string describe(cudaError_t error) {
  return fmt::format("{} ({})", cudaGetErrorName(error), cudaGetErrorString(error));
}

/// Throws for a failed call, and takes the error from the runtime, so that the next check does not see it again.
void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  int device = -1;
  static_cast<void>(cudaGetDevice(&device));
  throw Error(fmt::format("{} failed on GPU {}: {}", call, device, describe(error)));
}

double mebibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

/// For allocations: says what was asked for and what there is.
void check_memory(cudaError_t error, const char* call, std::size_t bytes) {
  if (error != cudaErrorMemoryAllocation) return check(error, call);
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0, total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  throw Error(fmt::format("{}: {}: {:.1f} MiB asked for, {:.1f} MiB of {:.1f} MiB free on the GPU", call,
                          describe(error), mebibytes(bytes), mebibytes(free), mebibytes(total)));
}

cudaStream_t native(Stream stream) {
  return static_cast<cudaStream_t>(stream.native);
}
cudaEvent_t native(Event event) {
  return static_cast<cudaEvent_t>(event.native);
}
cudaGraphExec_t native(Graph graph) {
  return static_cast<cudaGraphExec_t>(graph.native);
}

void* device_memory(std::size_t bytes) {
  void* data = nullptr;
  check_memory(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)), "cudaMalloc", bytes);
  return data;
}

void* pinned_memory(std::size_t bytes) {
  void* data = nullptr;
  // Portable and mapped: with unified addressing kernels use the same pointer.
  const auto flags = cudaHostAllocPortable | cudaHostAllocMapped;
  check_memory(cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), flags), "cudaHostAlloc", bytes);
  return data;
}

// ---- facts

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, ordinal), "cudaDeviceGetAttribute");
  return value;
}

/// An entry point of the driver, or null. Looked up at run time, so that pkb starts on machines without a driver.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12010, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess) return reinterpret_cast<Function>(function);
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

/// NVLink multicast. The runtime has no attribute for it.
bool offers_multicast(int ordinal) {
  using DeviceGet = CUresult (*)(CUdevice*, int);
  using DeviceGetAttribute = CUresult (*)(int*, CUdevice_attribute, CUdevice);
  const auto get = driver_function<DeviceGet>("cuDeviceGet");
  const auto get_attribute = driver_function<DeviceGetAttribute>("cuDeviceGetAttribute");
  CUdevice device = 0;
  int value = 0;
  return get != nullptr && get_attribute != nullptr && get(&device, ordinal) == CUDA_SUCCESS &&
         get_attribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device) == CUDA_SUCCESS && value != 0;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// "580.65.06 (CUDA 13.0)": the kernel module's version and the newest CUDA it serves.
std::string driver_text() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  std::string module;
  std::ifstream("/sys/module/nvidia/version") >> module;
  return fmt::format("{}{}(CUDA {})", module, module.empty() ? "" : " ", version_text(version));
}

DeviceFacts cuda_facts(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  DeviceFacts facts;
  facts.kind = DeviceKind::cuda;
  facts.ordinal = ordinal;
  facts.name = properties.name;
  facts.uuid = uuid_text(properties.uuid);
  facts.pci =
      fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID);
  facts.sm_count = properties.multiProcessorCount;
  facts.cc_major = properties.major;
  facts.cc_minor = properties.minor;
  facts.warp_size = properties.warpSize;
  facts.l2_bytes = properties.l2CacheSize;
  facts.shared_bytes_per_block = static_cast<int64_t>(properties.sharedMemPerBlockOptin);
  facts.total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  facts.exclusive_process = attribute(cudaDevAttrComputeMode, ordinal) == cudaComputeModeExclusiveProcess;
  facts.multicast = offers_multicast(ordinal);
  facts.driver = driver_text();
  facts.runtime = version_text(runtime);
  return facts;
}

// ---- handles

MemoryHandle handle_of(void* data, std::size_t bytes) {
  cudaIpcMemHandle_t native_handle;
  check(cudaIpcGetMemHandle(&native_handle, data), "cudaIpcGetMemHandle");
  MemoryHandle handle;
  static_assert(sizeof(native_handle) <= sizeof(handle.payload));
  handle.kind = MemoryHandle::Kind::cuda_ipc;
  handle.bytes = bytes;
  std::memcpy(handle.payload.data(), &native_handle, sizeof(native_handle));
  return handle;
}

void* map_handle(const MemoryHandle& handle) {
  cudaIpcMemHandle_t native_handle;
  std::memcpy(&native_handle, handle.payload.data(), sizeof(native_handle));
  void* base = nullptr;
  check(cudaIpcOpenMemHandle(&base, native_handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  return base;
}

}  // namespace

int cuda_device_count(std::string& why) {
  why.clear();
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
    static_cast<void>(cudaGetLastError());
    why = "no NVIDIA driver is loaded";
    return 0;
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  static_cast<void>(cudaGetLastError());
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  why = error == cudaSuccess ? "the driver shows none" : describe(error);
  if (visible != nullptr) why += fmt::format("; CUDA_VISIBLE_DEVICES is '{}'", visible);
  return 0;
}

CudaDevice::CudaDevice(int ordinal) {
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  // How `synchronize` waits: polling, so that it returns within microseconds (a blocking wait costs tens), but giving
  // the core away between polls, since a machine may have fewer cores than ranks and workers. Measured times come from
  // events.
  check(cudaSetDeviceFlags(cudaDeviceScheduleYield), "cudaSetDeviceFlags");
  facts_ = cuda_facts(ordinal);
  make_reduction_space();
}

CudaDevice::~CudaDevice() {
  for (const Imports::Mapping& mapping : imports_.mappings()) static_cast<void>(cudaIpcCloseMemHandle(mapping.base));
  for (const auto& [data, handle] : shared_) static_cast<void>(cudaFree(data));
}

void CudaDevice::make_reduction_space() {
  constexpr std::size_t kPartialBytes = cuda::ReductionSpace::kMaximumBlocks * sizeof(Comparison);
  reduction_memory_.reset(device_memory(kPartialBytes + sizeof(unsigned int)));
  reduction_result_.reset(pinned_memory(sizeof(Comparison)));
  check(cudaMemset(reduction_memory_.get(), 0, kPartialBytes + sizeof(unsigned int)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // the streams used later do not wait for the default stream
  reduction_.partials = static_cast<Comparison*>(reduction_memory_.get());
  reduction_.ticket = reinterpret_cast<unsigned int*>(static_cast<std::byte*>(reduction_memory_.get()) + kPartialBytes);
  reduction_.result = static_cast<Comparison*>(reduction_result_.get());
}

int64_t CudaDevice::free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<int64_t>(free);
}

void* CudaDevice::allocate(std::size_t bytes) {
  return device_memory(bytes);
}
void CudaDevice::free(void* data) {
  check(cudaFree(data), "cudaFree");
}
void* CudaDevice::allocate_pinned(std::size_t bytes) {
  return pinned_memory(bytes);
}
void CudaDevice::free_pinned(void* data) {
  check(cudaFreeHost(data), "cudaFreeHost");
}

void* CudaDevice::allocate_shared(std::size_t bytes, MemoryHandle& handle) {
  const std::size_t granules = std::max<std::size_t>((bytes + kSharedGranule - 1) / kSharedGranule, 1);
  const std::size_t rounded = granules * kSharedGranule;
  DeviceMemory memory(device_memory(rounded));
  check(cudaMemset(memory.get(), 0, rounded), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // zero before anyone opens it
  handle = handle_of(memory.get(), rounded);
  shared_.emplace(memory.get(), handle);
  return memory.release();
}

void CudaDevice::free_shared(void* data) {
  if (shared_.erase(data) == 0) throw Error("free_shared: not an address that allocate_shared returned");
  check(cudaFree(data), "cudaFree");
}

void* CudaDevice::open(const MemoryHandle& handle) {
  if (handle.kind != MemoryHandle::Kind::cuda_ipc) throw Error("open: the cuda device opens CUDA IPC handles only");
  for (const auto& [data, own] : shared_) {
    if (own.payload == handle.payload) throw Error("open: the handle is of this process's own memory");
  }
  return imports_.open(handle, [&] { return map_handle(handle); });
}

void CudaDevice::close(void* data) {
  imports_.close(data, [](const Imports::Mapping& mapping) {
    check(cudaIpcCloseMemHandle(mapping.base), "cudaIpcCloseMemHandle");
  });
}

void CudaDevice::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
}

void CudaDevice::fill_bytes(void* data, int value, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(data, value, bytes, native(stream)), "cudaMemsetAsync");
}

Stream CudaDevice::create_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return {stream};
}

void CudaDevice::destroy(Stream stream) {
  check(cudaStreamDestroy(native(stream)), "cudaStreamDestroy");
}
void CudaDevice::synchronize(Stream stream) {
  check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
}
void CudaDevice::synchronize() {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Event CudaDevice::create_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return {event};
}

void CudaDevice::destroy(Event event) {
  check(cudaEventDestroy(native(event)), "cudaEventDestroy");
}
void CudaDevice::record(Event event, Stream stream) {
  check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord");
}

void CudaDevice::synchronize(Event event) {
  check(cudaEventSynchronize(native(event)), "cudaEventSynchronize");
}
double CudaDevice::elapsed_us(Event start, Event stop) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, native(start), native(stop)), "cudaEventElapsedTime");
  return 1000.0 * static_cast<double>(milliseconds);
}

void CudaDevice::begin_capture(Stream stream) {
  // Thread-local: other threads of this process (NCCL's, a profiler's) may go on calling the runtime.
  check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

Graph CudaDevice::end_capture(Stream stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(native(stream), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check(error, "cudaGraphInstantiate");
  check(cudaGraphUpload(executable, native(stream)), "cudaGraphUpload");
  return {executable};
}

void CudaDevice::launch(Graph graph, Stream stream) {
  check(cudaGraphLaunch(native(graph), native(stream)), "cudaGraphLaunch");
}

void CudaDevice::destroy(Graph graph) {
  check(cudaGraphExecDestroy(native(graph)), "cudaGraphExecDestroy");
}

void CudaDevice::abandon_capture(Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(native(stream), &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) {
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(native(stream), &graph) == cudaSuccess) static_cast<void>(cudaGraphDestroy(graph));
  }
  static_cast<void>(cudaGetLastError());
}

std::string CudaDevice::take_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? "" : describe(error);
}

void CudaDevice::reset_persisting_l2() {
  const cudaError_t error = cudaCtxResetPersistingL2Cache();
  if (error == cudaErrorNotSupported) {
    static_cast<void>(cudaGetLastError());
    return;
  }
  check(error, "cudaCtxResetPersistingL2Cache");
}

void CudaDevice::barrier(std::span<void* const> pads, int self, uint32_t epoch, int64_t timeout_ns, uint32_t* timed_out,
                         Stream stream) {
  if (pads.size() > cuda::kMaximumMembers) {
    throw Error(fmt::format("barrier: {} members, at most {} can be aligned", pads.size(), cuda::kMaximumMembers));
  }
  cuda::BarrierPads table{};
  std::copy(pads.begin(), pads.end(), table.pad);
  check(cuda::barrier(table, static_cast<int>(pads.size()), self, epoch, timeout_ns, timed_out, native(stream)),
        "barrier");
}

void CudaDevice::flush_l2(Stream stream) {
  if (!flush_memory_) {
    flush_bytes_ = static_cast<std::size_t>(std::max<int64_t>(2 * facts_.l2_bytes, kSharedGranule));
    flush_memory_.reset(device_memory(flush_bytes_));
  }
  flush_value_ = (flush_value_ + 1) & 0xff;  // new values, so that no compression or comparison can spare the write
  check(cudaMemsetAsync(flush_memory_.get(), flush_value_, flush_bytes_, native(stream)), "cudaMemsetAsync");
}

void CudaDevice::spin(int64_t nanoseconds, Stream stream) {
  check(cuda::spin(nanoseconds, native(stream)), "spin");
}

void CudaDevice::draw(void* data, Dtype dtype, int64_t elements, Slice slice, DrawKey key, Distribution distribution,
                      double a, double b, Stream stream) {
  if (elements <= 0) return;
  const DrawPlan plan = plan_draw(dtype, slice, key, distribution, a, b);
  check(cuda::draw(data, dtype, elements, plan, native(stream)), "draw");
}

void CudaDevice::poison(void* data, Dtype dtype, int64_t elements, DrawKey key, Stream stream) {
  if (elements <= 0) return;
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(dtype);
  if (is_floating(dtype)) return fill_bytes(data, 0xff, bytes, stream);
  check(cuda::scramble(data, bytes, poison_key(key), key.draw, native(stream)), "poison");
}

uint64_t CudaDevice::hash(const void* data, std::size_t bytes, Stream stream) {
  check(cuda::hash(data, bytes, reduction_, native(stream)), "hash");
  synchronize(stream);
  uint64_t value = 0;
  std::memcpy(&value, reduction_.result, sizeof(value));
  return value;
}

Device::Comparison CudaDevice::compare(const void* got, const void* expected, Dtype dtype, int64_t elements,
                                       CompareRule rule, Stream stream) {
  check(cuda::compare(got, expected, dtype, elements, rule, reduction_, native(stream)), "compare");
  synchronize(stream);
  return *reduction_.result;
}

}  // namespace pkb
