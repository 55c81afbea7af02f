// SPDX-License-Identifier: Apache-2.0
#include "evaluate/trials.h"

#include <algorithm>

#include "evaluate/verdict.h"

namespace pkb {

std::vector<int> plan_trials(const std::vector<int>& cases, int trials) {
  std::vector<int> plan;
  const std::size_t count = std::max<std::size_t>(static_cast<std::size_t>(trials), cases.size());
  for (std::size_t i = 0; i < count; ++i) plan.push_back(cases[i % cases.size()]);
  return plan;
}

Instance instance_of(Job& job, const Problem& problem, const std::string& size, const Overrides& overrides,
                     int case_index) {
  return make_instance(problem, size, overrides, job.team.size(), job.team.rank(), case_index);
}

void make_draws(Job& job, const Instance& instance, int64_t first, int count) {
  together(job.team, [&] { job.reference.make_draws(instance, first, count); });
}

}  // namespace pkb
