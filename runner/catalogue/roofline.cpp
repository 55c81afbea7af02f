// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "catalogue/catalogue.h"
#include "core/error.h"

namespace pkb {

Roofline roofline(const std::vector<PhaseInstance>& phases, const Profile& profile, bool multicast) {
  Roofline result;
  enum Resource { compute, memory, link };
  constexpr std::array<const char*, 3> kNames = {"compute", "memory", "link"};
  std::array<double, 3> charged{};             // the part of `seconds` that each resource sets
  std::map<std::string, double> unit_seconds;  // units of different precision may work side by side
  for (const PhaseInstance& phase : phases) {
    const double comm_bytes = multicast ? phase.comm_nvls_bytes : phase.comm_bytes;
    std::array<double, 3> seconds{0, phase.mem_bytes / profile.memory_bandwidth, comm_bytes / profile.link_bandwidth};
    if (phase.flops > 0) {
      const auto peak = profile.peak.find(phase.precision);
      if (peak == profile.peak.end()) {
        throw UsageError("profile " + profile.name + " has no peak for " + phase.precision);
      }
      seconds[compute] = phase.flops / peak->second;
      unit_seconds[phase.precision] += seconds[compute];
    }
    const auto slowest = std::max_element(seconds.begin(), seconds.end());
    charged[static_cast<std::size_t>(slowest - seconds.begin())] += *slowest;
    result.seconds += *slowest;
    result.flops += phase.flops;
    result.mem_bytes += phase.mem_bytes;
    result.comm_bytes += comm_bytes;
  }
  result.floor_without_memory = result.comm_bytes / profile.link_bandwidth;
  for (const auto& [precision, seconds] : unit_seconds) {
    result.floor_without_memory = std::max(result.floor_without_memory, seconds);
  }
  result.floor_seconds = std::max(result.floor_without_memory, result.mem_bytes / profile.memory_bandwidth);
  if (!phases.empty()) {
    const auto most = std::max_element(charged.begin(), charged.end());
    result.bound = kNames[static_cast<std::size_t>(most - charged.begin())];
  }
  return result;
}

}  // namespace pkb
