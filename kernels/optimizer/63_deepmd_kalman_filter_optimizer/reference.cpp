// SPDX-License-Identifier: Apache-2.0
//
// A = 1 / sum over all ranks and blocks of (lambda + H^T P H),  K = P H                 of each block
// w <- w + A error K;   P <- (P - A K K^T) / lambda;   lambda <- nue lambda + 1 - nue
// H, weights [NB, BLK, 1], P, P_out [NB, BLK, BLK] and error [] are a rank's own; all_weights [W*NB, BLK, 1]; fp64
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &h = in["H"], &p = in["P"];
  const double lambda = in.real("kalman_lambda"), nue = in.real("kalman_nue");
  const int64_t blocks = h.size(0);

  const at::Tensor k = at::bmm(p, h);
  at::Tensor sum = at::dot(h.view(-1), k.view(-1)).add_(static_cast<double>(blocks) * lambda);
  comm.all_reduce(sum);
  const at::Tensor a = sum.reciprocal_();

  // To every rank while P is updated.
  const at::Tensor weights = at::addcmul(in["weights"], a * in["error"], k);
  at::Tensor all_weights = at::empty({comm.size() * blocks, h.size(1), 1}, h.options());
  const auto gathering = comm.start_all_to_all_single(all_weights, weights.repeat({comm.size(), 1, 1}));

  const at::Tensor p_out = at::empty_like(p), left = k * (a / -lambda);
  for (int64_t i = 0; i < blocks; ++i) {
    at::Tensor block = p_out[i];
    at::addr_out(block, p[i], left[i].view(-1), k[i].view(-1), /*beta=*/1 / lambda);
  }
  gathering->wait();
  return {{"all_weights", all_weights},
          {"P_out", p_out},
          {"kalman_lambda_next", at::full({}, nue * lambda + 1 - nue, h.options())}};
}
PKB_REFERENCE(baseline)
