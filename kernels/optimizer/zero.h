// SPDX-License-Identifier: Apache-2.0
//
// A training step whose Adam state is sharded, ZeRO stages 1 and 2, arXiv:1910.02054: problems 41 and 42.
#pragma once

#include "optimizer/adam.h"
#include "optimizer/mlp.h"

namespace pkb {

/// Every rank updates its equal part of the flat parameters with its part of the mean gradient; all get all parts.
inline Outputs sharded_step(const Inputs& in, Comm& comm, AdamStep adam) {
  const MlpShape shape = mlp_shape(in);
  at::Tensor p = of_rank_0(in, {"W1", "b1", "W2", "b2"}, comm);
  const at::Tensor own = p.chunk(comm.size())[comm.rank()];
  at::Tensor g = at::empty_like(own);
  comm.reduce_scatter_tensor(g, mlp_gradient(p, shape, in["X_local"], in["y_local"]), ReduceOp::avg);

  const at::Tensor moments = at::stack({in["exp_avg_part"], in["exp_avg_sq_part"]});
  adam(own, moments[0], moments[1], g, in);
  comm.all_gather_into_tensor(p, own);
  const Mlp parts = mlp_parts(p, shape);
  return {{"W1_new", parts.w1}, {"b1_new", parts.b1},   {"W2_new", parts.w2},
          {"b2_new", parts.b2}, {"m_part", moments[0]}, {"v_part", moments[1]}};
}

}  // namespace pkb
