// SPDX-License-Identifier: Apache-2.0
//
// Where results come from: the build, the machines, the settings. One record a job, the first thing its journal gets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/columns.h"

namespace pkb {

/// The GPU (or, on host, the processor) of one rank.
struct DeviceRecord {
  int rank = 0;
  std::string host;
  int node = 0;                 ///< index of the node
  std::string kind;             ///< cuda, host
  int ordinal = 0;              ///< among the devices this rank sees
  std::string name, uuid, pci;  ///< pci is empty on host
  int sm_count = 0;
  std::string compute_capability;  ///< "9.0"; empty on host
  int64_t memory_bytes = 0;
  std::string driver;  ///< version
};

/// What the programs were built from.
struct BuildInfo {
  std::string version;     ///< of pkb
  std::string git_commit;  ///< empty: not built from a git checkout
  bool git_dirty = false;  ///< the checkout differed from that commit
  std::string compiler, build_type;
};
const BuildInfo& build_info();
std::string version_text();  ///< "pkb 0.1.0 (3f2a91c4d0, modified), GNU 12.2.0, Release"

/// Everything about a job that its rows do not say. What only the runner can know it fills in; `to_record` adds the
/// rest.
struct RunRecord {
  std::string started_utc;
  std::vector<std::string> command_line;
  std::vector<std::string> hosts;  ///< one a node
  std::map<std::string, std::string>
      versions;          ///< "torch", "nccl", "cuda_driver", "cuda_runtime", "mpi"; unknown ones left out
  std::string topology;  ///< how the devices are connected, as the driver's tools print it; may be empty
  std::map<std::string, std::string> environment;  ///< see recorded_environment
  std::string kernel, cpu;                         ///< of the reporting rank's node
  int cpu_count = 0;
  uint64_t seed = 0;                           ///< of all evaluations; 0: each has its own
  std::vector<DeviceRecord> devices;           ///< by rank
  OrderedJson config = OrderedJson::object();  ///< the options in effect
};

/// With the time, the kernel, the processor and the environment of this process filled in.
RunRecord start_record(const std::vector<std::string>& command_line);

/// {schema_version, meta, devices, config}: what results.json has besides its results.
OrderedJson to_record(const RunRecord& run);
OrderedJson to_record(const DeviceRecord& device);

/// Of "NAME=value" entries those that influence communication and timing, by an allow-list of names. Names that could
/// hold a secret or an address (TOKEN, KEY, URI ...) are left out even when the list has them.
std::map<std::string, std::string> recorded_environment(const char* const* entries);

std::string utc_now();          ///< "2026-01-31T23:59:59Z"
std::string utc_now_compact();  ///< "20260131T235959Z", for names of folders

}  // namespace pkb
