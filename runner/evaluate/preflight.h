// SPDX-License-Identifier: Apache-2.0
//
// Before the first row: which device, which GPU for which rank, and whether every pair of ranks can really reach each
// other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "team/team.h"

namespace pkb {

struct Placement {
  DeviceKind kind = DeviceKind::host;
  int ordinal = 0;
  int ranks_per_gpu = 1;  ///< the most ranks that any GPU has
  std::string notice;     ///< what the user should know about the choice; empty: nothing
};

/// Collective. Without a wish cuda is taken when every rank can have a GPU of its own, else host. Throws UsageError
/// when cuda is asked for and a node has no GPU.
Placement choose_device(Team& team, std::optional<DeviceKind> wanted);

/// Collective. What every rank sees, in rank order. Throws UsageError for GPUs in exclusive-process mode, or under MPS,
/// with the fix.
std::vector<DeviceFacts> gather_facts(Team& team, const DeviceFacts& mine);
void refuse_unfit_gpus(const std::vector<DeviceFacts>& facts);

/// The most ranks that share one device (by UUID).
int most_ranks_per_device(const std::vector<DeviceFacts>& facts);

/// Collective. A real round trip of every pair: each rank writes into every peer's memory and reads back what the peers
/// wrote. Throws UsageError that names the pairs that fail and what usually stops them.
void probe_peers(Team& team, Device& device);

}  // namespace pkb
