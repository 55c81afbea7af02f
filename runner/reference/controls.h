// SPDX-License-Identifier: Apache-2.0
//
// Answers that must be found wrong, for every problem without code of its own: they show that a problem's inputs and
// tolerances can tell a lazy kernel from a right one.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/problem.h"
#include "reference/reference_side.h"
#include "reference/tensors.h"

namespace pkb {

/// `like` with every element `value` (undefined tensors stay undefined).
std::vector<at::Tensor> filled_like(const std::vector<at::Tensor>& like, double value);

/// The bytes of the inputs, repeated: of the argument itself where an output is in place, else of the first input of
/// the output's dtype, else of the first input.
std::vector<at::Tensor> inputs_as_outputs(const Instance& instance, const Slot& slot,
                                          const std::vector<at::Tensor>& like);

/// `right` with one element of each tensor off by three times its tolerance; where nothing is tolerated, by one bit. An
/// infinity or NaN becomes a finite number. `salt` chooses the elements.
std::vector<at::Tensor> off_by_one_element(const Instance& instance, const std::vector<at::Tensor>& right,
                                           uint64_t salt);

/// Why `expected` says little; see ReferenceSide::degenerate.
ReferenceSide::Degenerate degeneracy_of(const Instance& instance, const Slot& slot, const at::Tensor& expected);

/// Equal shapes, and the same bits.
bool same_bytes(const at::Tensor& a, const at::Tensor& b);

}  // namespace pkb
