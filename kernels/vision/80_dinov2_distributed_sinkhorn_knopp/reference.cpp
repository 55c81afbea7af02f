// SPDX-License-Identifier: Apache-2.0
//
// E[b, k] = exp(teacher_output[b, k] / temp);  n_iterations times, at first with v = 1, sums over b over all ranks'
// rows:
//   a[k] = 1 / sum over b of E[b, k] v[b],   v[b] = 1 / sum over k of E[b, k] a[k];     q[b, k] = E[b, k] a[k] v[b]
// teacher_output, q [B, K] fp32, n_iterations >= 1; every row of q sums to 1. The source also divides by the sum of E,
// K and the sum of n_masked, and multiplies by the latter: they cancel.
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["teacher_output"];
  const double cold = 1 / in.real("teacher_temp");
  const at::Tensor e = (x * cold).exp_();
  at::Tensor of_prototype = e.sum(0);
  comm.all_reduce(of_prototype);
  for (int64_t iteration = 1; iteration < in.integer("n_iterations"); ++iteration) {
    const at::Tensor of_row = at::mv(e, of_prototype.reciprocal_()).reciprocal_();
    of_prototype = at::mv(e.t(), of_row);
    comm.all_reduce(of_prototype);
  }
  // The last factor of the rows makes each sum to 1.
  return {{"q", at::softmax(at::add(of_prototype.log_().neg_(), x, cold), 1)}};
}

/// Every row sums to 1, and every prototype has the share that it has in the answer.
std::string check(const pkb::Inputs&, const pkb::Outputs& got, const pkb::Outputs& expected, pkb::Comm& comm) {
  constexpr double kOfRow = 1e-5, kOfPrototype = 1e-4;
  const auto near = [](const at::Tensor& x, const at::Tensor& truth, double relative) {
    return (x.sub(truth).abs_() <= truth.abs() * relative).all().item<bool>();
  };
  const auto shares = [&](const pkb::Outputs& outputs) {
    at::Tensor sums = std::get<at::Tensor>(outputs.at("q")).sum(0, /*keepdim=*/false, at::kDouble);
    comm.all_reduce(sums);
    return sums;
  };
  const at::Tensor of_rows = std::get<at::Tensor>(got.at("q")).sum(1, /*keepdim=*/false, at::kDouble);
  const at::Tensor own_shares = shares(got), right_shares = shares(expected);
  if (!near(of_rows, at::ones_like(of_rows), kOfRow)) return "a row of q does not sum to 1";
  return near(own_shares, right_shares, kOfPrototype) ? "" : "the sum of a column of q over all ranks is wrong";
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, nullptr, check};
  return &reference;
}
