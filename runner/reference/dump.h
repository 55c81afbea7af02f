// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "catalogue/problem.h"
#include "reference/reference_side.h"
#include "reference/tensors.h"
#include "reference/torch_file.h"

namespace pkb {

/// The dictionary of one dumped call, as docs/results.md describes it. `expected` and `actual` go by index into
/// instance.outputs; an empty `actual`: there is no candidate.
TorchDict dump_of(const Instance& instance, const Slot& slot, const std::vector<at::Tensor>& expected,
                  const std::vector<at::Tensor>& actual, const DumpDetails& details);

}  // namespace pkb
