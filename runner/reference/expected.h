// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "catalogue/problem.h"
#include "pkb/reference.h"
#include "reference/tensors.h"

namespace pkb {

/// Runs `answer` on copies of the in-place arguments and on the slot's other inputs. One contiguous tensor for each of
/// instance.outputs, undefined where the output is absent on this rank. Collective. Throws Error when presence, dtype,
/// shape or place of an output is not what the catalogue declares, or when there is an output that it does not know.
std::vector<at::Tensor> expected_outputs(const Instance& instance, ReferenceFunction answer, const Slot& slot,
                                         Comm& comm, at::Device device);

/// Is this input changed by the call?
bool is_changed_input(const Instance& instance, std::string_view input);

}  // namespace pkb
