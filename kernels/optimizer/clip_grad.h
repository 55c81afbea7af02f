// SPDX-License-Identifier: Apache-2.0
//
// Clipping of gradients by their global 2-norm: sums of squares over all tensors, one factor for all.
#pragma once

#include <pkb/reference.h>

#include <vector>

namespace pkb {

/// Of all elements of all tensors, in the type `sums`; rank 0.
inline at::Tensor sum_of_squares(const std::vector<at::Tensor>& tensors, at::ScalarType sums) {
  return at::stack(at::_foreach_norm(tensors, 2, sums)).square_().sum();
}

/// max_norm / norm as bf16 where norm > max_norm, else 1 (also where it is NaN); the host does not look.
inline at::Tensor clip_factor(const at::Tensor& norm, double max_norm) {
  return at::where(norm > max_norm, norm.reciprocal().mul_(max_norm), 1.0).to(at::kBFloat16);
}

}  // namespace pkb
