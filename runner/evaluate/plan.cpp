// SPDX-License-Identifier: Apache-2.0
#include "evaluate/plan.h"

namespace pkb {

std::vector<Item> make_plan(const Options& options, const Catalogue& catalogue, DeviceKind device, int world,
                            const Resources& resources) {
  const auto selected = select(catalogue, options.selection);
  check_candidate_option(options.candidate, selected);
  const std::string size = !options.size.empty() ? options.size : device == DeviceKind::cuda ? "default" : "smoke";
  std::vector<Item> plan;
  for (const Problem* problem : selected) {
    const std::string skip = why_illegal(*problem, size, options.overrides, world);
    for (Candidate& candidate : candidates_for(*problem, options.candidate, device, resources)) {
      plan.push_back({problem, size, options.overrides, std::move(candidate), 0, skip});
    }
  }
  const std::size_t once = plan.size();
  for (int repeat = 1; repeat < options.repeat; ++repeat) {
    for (std::size_t i = 0; i < once; ++i) {
      plan.push_back(plan[i]);
      plan.back().repeat = repeat;
    }
  }
  return plan;
}

}  // namespace pkb
