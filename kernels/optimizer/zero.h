// SPDX-License-Identifier: Apache-2.0
//
// The end of a training step whose Adam state is sharded, ZeRO stages 1 and 2, arXiv:1910.02054: problems 41 and 42.
#pragma once

#include "optimizer/adam.h"
#include "optimizer/mlp.h"

namespace pkb {

/// The flat parameters of rank 0.
inline at::Tensor broadcast_parameters(const Inputs& in, Comm& comm) {
  at::Tensor p = flattened(in, {"W1", "b1", "W2", "b2"});
  comm.broadcast(p, 0);
  return p;
}

/// Every rank updates its equal part of p with g, its part of the summed gradients; all get all parts.
inline Outputs sharded_adam_step(const Inputs& in, Comm& comm, at::Tensor& p, const at::Tensor& g) {
  const Moments moments = updated_moments(in["exp_avg_part"], in["exp_avg_sq_part"], g.div(comm.size()), in);
  const at::Tensor updated = adam_updated(p.chunk(comm.size())[comm.rank()], moments, in);
  comm.all_gather_into_tensor(p, updated);
  const Mlp parts = mlp_parts(p, mlp_shape(in));
  return {{"W1_new", parts.w1}, {"b1_new", parts.b1},  {"W2_new", parts.w2},
          {"b2_new", parts.b2}, {"m_part", moments.m}, {"v_part", moments.v}};
}

}  // namespace pkb
