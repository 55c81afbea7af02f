// SPDX-License-Identifier: Apache-2.0
//
// What lives as long as the job, and what every evaluation needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "device/device.h"
#include "device/gpu_clocks.h"
#include "evaluate/resources.h"
#include "options/options.h"
#include "reference/reference_side.h"
#include "team/team.h"
#include "team/worker_session.h"

namespace pkb {

struct Job {
  const Options& options;
  const Resources& resources;
  Team& team;
  Device& device;  ///< the trusted side's
  ReferenceSide& reference;
  Watchdog& watchdog;
  const GpuClocks& clocks;
  const Profile* profile = nullptr;  ///< hardware limits; null: none known for this device
  int ranks_per_gpu = 1;
  double free_bytes = 0;       ///< of device memory, for this rank, when the evaluation began; the same on all ranks
  std::filesystem::path logs;  ///< folder of worker logs
  std::string name_prefix;     ///< of this job's shared-memory objects
  uint64_t seed = 0;           ///< of the current evaluation; the same on all ranks

  /// Speed-ups exist for GPUs that a rank has to itself.
  bool times_count() const { return device.kind() == DeviceKind::cuda && ranks_per_gpu == 1; }
};

/// Hands out workers; the next one is started when the current one is taken, so that it is ready when needed.
class WorkerPool {
 public:
  /// `ready`: start the first one now (not for runs of references alone).
  WorkerPool(WorkerOptions options, std::filesystem::path logs, int rank, bool ready);
  /// A started worker whose output goes to <logs>/<name>.rank<r>.log.
  std::unique_ptr<WorkerProcess> take(WorkerOptions& options);
  pid_t next_pid() const { return next_ ? next_->pid() : -1; }

 private:
  void start_next();
  WorkerOptions options_;
  std::filesystem::path logs_;
  int rank_;
  int started_ = 0;
  std::unique_ptr<WorkerProcess> next_;
  WorkerOptions next_options_;
};

}  // namespace pkb
