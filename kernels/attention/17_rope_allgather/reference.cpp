// SPDX-License-Identifier: Apache-2.0
//
// x_global = [e_0 | e_1 | ..] along the sequence,  e_r = x_r cos + rotated(x_r) sin,  for x = q and x = k
// rotated(x)[d] = -x[d + HD/2] for d < HD/2, else x[d - HD/2]; cos, sin [B, S/W, HD] are the same for all heads
// x_r [B, S/W, NH, HD], x_global [B, S, NH, HD], bf16, rounded after each product and after the sum
#include <pkb/reference.h>

namespace {

at::Tensor rotated(const at::Tensor& x) {
  const auto halves = x.chunk(2, -1);
  return at::cat({-halves[1], halves[0]}, -1);
}

at::Tensor embedded(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  return x * cos + rotated(x) * sin;
}

at::Tensor gathered(const at::Tensor& x, pkb::Comm& comm) {
  std::vector<at::Tensor> parts;
  for (int s = 0; s < comm.size(); ++s) parts.push_back(at::empty_like(x));
  comm.all_gather(parts, x);
  return at::cat(parts, /*dim=*/1);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor cos = in["cos_local"].unsqueeze(2), sin = in["sin_local"].unsqueeze(2);
  const at::Tensor q = embedded(in["q_local"], cos, sin), k = embedded(in["k_local"], cos, sin);
  return {{"q_global", gathered(q, comm)}, {"k_global", gathered(k, comm)}};
}
PKB_REFERENCE(baseline)
