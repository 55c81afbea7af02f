// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_clocks.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace pkb {
namespace {

// Of nvml.h, which need not be installed: values of its ABI.
using NvmlDevice = void*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
constexpr std::array<std::pair<unsigned long long, const char*>, 7> kReasons{{
    {0x02, "application_clocks"},
    {0x04, "power_cap"},
    {0x08, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},
    {0x80, "power_brake"},
}};

}  // namespace

struct GpuClocks::Library {
  void* handle = nullptr;
  NvmlDevice device = nullptr;
  int (*shutdown)() = nullptr;
  int (*clock_info)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;

  template <class Function>
  bool load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }

  bool open(const std::string& uuid) {
    int (*initialise)() = nullptr;
    int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle || !load(initialise, "nvmlInit_v2") || !load(by_uuid, "nvmlDeviceGetHandleByUUID") ||
        !load(clock_info, "nvmlDeviceGetClockInfo") || !load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons") ||
        initialise() != kSuccess) {
      return false;
    }
    load(shutdown, "nvmlShutdown");
    return by_uuid(uuid.c_str(), &device) == kSuccess;
  }

  ~Library() {
    if (shutdown) shutdown();
    if (handle) dlclose(handle);
  }
};

GpuClocks::GpuClocks(const std::string& uuid) {
  if (uuid.empty()) return;
  auto library = std::make_unique<Library>();
  if (library->open(uuid)) library_ = std::move(library);
}

GpuClocks::~GpuClocks() = default;

GpuClocks::Reading GpuClocks::read() const {
  Reading reading;
  if (!library_) return reading;
  unsigned mhz = 0;
  if (library_->clock_info(library_->device, kSmClock, &mhz) == kSuccess) reading.sm_mhz = mhz;
  unsigned long long mask = 0;
  if (library_->reasons(library_->device, &mask) != kSuccess) return reading;
  for (const auto& [bit, name] : kReasons) {
    if ((mask & bit) != 0) reading.throttle += (reading.throttle.empty() ? "" : " ") + std::string(name);
  }
  return reading;
}

}  // namespace pkb
