// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "evaluate/evaluation.h"
#include "evaluate/resources.h"
#include "options/options.h"

namespace pkb {

/// What will be done, in order: every selected problem with every sample, as often as --repeat says. A problem that
/// cannot run with this W stands in the plan with its reason. Throws UsageError for a selection that makes no sense.
std::vector<Item> make_plan(const Options& options, const Catalogue& catalogue, DeviceKind device, int world,
                            const Resources& resources);

}  // namespace pkb
