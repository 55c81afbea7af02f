// SPDX-License-Identifier: Apache-2.0
//
// What LibTorch does differently on a GPU and on the CPU.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/device.h"
#include "reference/comm.h"
#include "team/team.h"

namespace pkb {

/// Calls captured as one graph. Replayed on the backend's stream.
class CapturedCalls {
 public:
  virtual ~CapturedCalls() = default;
  virtual void replay() = 0;
};

class TorchBackend {
 public:
  virtual ~TorchBackend() = default;

  virtual at::Device device() const = 0;
  /// LibTorch's current stream, not the default one; on host the stream on which the harness's own work is enqueued.
  virtual Stream stream() const = 0;
  /// The communicators of the job. Collective.
  virtual std::unique_ptr<CommGroups> make_groups(Team& team, bool ranks_share_gpus) = 0;
  /// Null and the reason when `calls` cannot be captured.
  virtual std::unique_ptr<CapturedCalls> capture(const std::function<void()>& calls, std::string& why_not) = 0;
  virtual void release_cached_memory() = 0;
  virtual int64_t reserved_bytes() const = 0;
  virtual std::string versions() const = 0;
};

/// Makes the device current and sets LibTorch up: fp32 means fp32 (no TF32), sums of bf16 and fp16 products stay in
/// fp32.
std::unique_ptr<TorchBackend> make_torch_backend(Device& device);

/// With a CUDA build only; otherwise throws UsageError.
std::unique_ptr<TorchBackend> make_cuda_backend(Device& device);
std::unique_ptr<CommGroups> make_nccl_groups(Team& team, int ordinal);
std::string nccl_version();

}  // namespace pkb
