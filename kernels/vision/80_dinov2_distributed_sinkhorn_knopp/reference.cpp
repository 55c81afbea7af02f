// SPDX-License-Identifier: Apache-2.0
//
// E[k, b] = exp(teacher_output[b, k] / temp) over all ranks' rows b, divided by its sum; then n times
//   E[k, :] /= K * sum over b of E[k, b],   E[:, b] /= N * sum over k of E[k, b];   q[b, k] = N * E[k, b] of own rows
// N = sum over ranks of n_masked.   teacher_output, q [B, K] fp32; every row of q sums to 1
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  at::Tensor q = (in["teacher_output"] / in.real("teacher_temp")).exp_().t();
  at::Tensor samples = in["n_masked"].to(at::kFloat);
  comm.all_reduce(samples);
  at::Tensor mass = q.sum();
  comm.all_reduce(mass);
  q.div_(mass);
  for (int64_t iteration = 0; iteration < in.integer("n_iterations"); ++iteration) {
    at::Tensor of_prototype = q.sum(1, /*keepdim=*/true);
    comm.all_reduce(of_prototype);
    q.div_(of_prototype.mul_(q.size(0)));
    q.div_(q.sum(0, /*keepdim=*/true).mul_(samples));
  }
  return {{"q", q.mul_(samples).t()}};
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
