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
  at::Tensor factor = at::empty({}, norm.options().dtype(at::kBFloat16));
  at::div_out(factor, at::scalar_tensor(max_norm), norm);
  return at::fmin_out(factor, factor, at::scalar_tensor(1.0));  // not the NaN
}

/// In place; the norm before it, of the gradients of all ranks, as fp32. Sums are in the type `sums`.
inline at::Tensor clip_grads(const std::vector<at::Tensor>& grads, double max_norm, Comm& comm, at::ScalarType sums) {
  at::Tensor squares = sum_of_squares(grads, sums);
  comm.all_reduce(squares);
  const at::Tensor total_norm = squares.sqrt_();
  at::_foreach_mul_(grads, clip_factor(total_norm, max_norm));
  return total_norm.to(at::kFloat);
}

}  // namespace pkb
