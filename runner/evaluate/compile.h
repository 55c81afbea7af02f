// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "device/device.h"
#include "evaluate/resources.h"
#include "team/team.h"

namespace pkb {

struct Compiled {
  std::filesystem::path module;  ///< shared object; empty when it could not be compiled
  std::string sha256;            ///< of the candidate file as given
  std::string reason;            ///< one line: why not
  std::string log_tail;
  bool ok() const { return !module.empty(); }
};

/// Where compiled modules, and what was found out about modules, are kept.
std::filesystem::path module_cache();

/// Collective. A .so is taken as it is; a .cu is compiled once a node (nvcc, or pkb's host compiler) into a cache keyed
/// by content, headers and flags, below $PKB_CACHE_DIR, $XDG_CACHE_HOME/pkb or ~/.cache/pkb.
Compiled compile_candidate(Team& team, const std::filesystem::path& file, const DeviceFacts& device,
                           const Resources& resources);

}  // namespace pkb
