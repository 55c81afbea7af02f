// SPDX-License-Identifier: Apache-2.0
//
// Exchanges that split one axis of a tensor over the ranks and join another: DeepSpeed-Ulysses, arXiv:2309.14509.
#pragma once

#include <pkb/reference.h>

namespace pkb {

/// Cuts axis `scatter` of x into one slice a rank and sends slice d to rank d. Returns what arrives, [W, slice...] in
/// rank order.
inline at::Tensor exchange_slices(const at::Tensor& x, int64_t scatter, Comm& comm) {
  const at::Tensor sent = x.unflatten(scatter, at::IntArrayRef{comm.size(), -1}).movedim(scatter, 0).contiguous();
  at::Tensor slices = at::empty_like(sent);
  comm.all_to_all_single(slices, sent);
  return slices;
}

/// The same, the slices joined along axis `gather` in rank order.
inline at::Tensor exchange_axes(const at::Tensor& x, int64_t scatter, int64_t gather, Comm& comm) {
  return exchange_slices(x, scatter, comm).movedim(0, gather).flatten(gather, gather + 1);
}

/// The first `length` tokens where the sequence had to be padded to be cut into equal parts; 0: it did not.
inline at::Tensor without_padding(const at::Tensor& x, int64_t axis, int64_t length, const Comm& comm) {
  return length > 0 && length % comm.size() != 0 ? x.narrow(axis, 0, length) : x;
}

}  // namespace pkb
