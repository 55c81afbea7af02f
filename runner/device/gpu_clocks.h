// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace pkb {

/// The SM clock and what holds it down, read from NVML (loaded when it is there: the library comes with the driver).
/// Without it, and for the host device, readings have no value.
class GpuClocks {
 public:
  struct Reading {
    double sm_mhz = 0;     ///< 0: unknown
    std::string throttle;  ///< reasons other than idleness, separated by spaces; empty: none
  };

  /// `uuid` as DeviceFacts has it; empty: no readings.
  explicit GpuClocks(const std::string& uuid);
  ~GpuClocks();
  GpuClocks(const GpuClocks&) = delete;
  GpuClocks& operator=(const GpuClocks&) = delete;

  Reading read() const;  ///< a few microseconds; never throws

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace pkb
