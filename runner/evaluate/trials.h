// SPDX-License-Identifier: Apache-2.0
//
// What trials are made of, whoever is judged in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "evaluate/job.h"

namespace pkb {

/// Which case each trial runs: all cases at least once, in turn.
std::vector<int> plan_trials(const std::vector<int>& cases, int trials);

/// This rank's.
Instance instance_of(Job& job, const Problem& problem, const std::string& size, const Overrides& overrides,
                     int case_index);

/// Collective.
void make_draws(Job& job, const Instance& instance, int64_t first, int count);

}  // namespace pkb
