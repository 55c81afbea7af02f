// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/host_device.h"
#if PKB_CUDA
#include "device/cuda_device.h"
#endif

namespace pkb {

std::string_view name_of(DeviceKind kind) {
  return kind == DeviceKind::cuda ? "cuda" : "host";
}

#if !PKB_CUDA
int cuda_device_count(std::string& why) {
  why = "pkb was built without CUDA (no toolkit was found)";
  return 0;
}
#endif

namespace {

std::unique_ptr<Device> make_cuda_device(int ordinal) {
  std::string why;
  const int count = cuda_device_count(why);
  if (count == 0) throw UsageError("device cuda: no GPU: " + why + "; use --device host");
  if (ordinal < 0 || ordinal >= count) {
    throw UsageError(fmt::format("device cuda: there is no GPU {}, this process sees {}", ordinal, count));
  }
#if PKB_CUDA
  return std::make_unique<CudaDevice>(ordinal);
#else
  return nullptr;  // not reached: the count is 0
#endif
}

}  // namespace

std::unique_ptr<Device> make_device(DeviceKind kind, int ordinal, std::string_view name_prefix) {
  if (kind == DeviceKind::cuda) return make_cuda_device(ordinal);
  return std::make_unique<HostDevice>(name_prefix);
}

}  // namespace pkb
