// SPDX-License-Identifier: Apache-2.0
//
// loss = 1/W sum_r E sum_e f[e] p[e],   w = softmax(gate_logits), f[e] = share of the tokens that choose e, p[e] = mean
// of w[:, e];  a token chooses its top_k largest w, of equal ones the lower expert.  gate_logits [M, E], w and p bf16
// On a GPU topk takes the lower of equal experts; on the CPU it makes no promise, so the answer comes from a stable
// sort.
#include <pkb/reference.h>

namespace {

at::Tensor mean_loss(const at::Tensor& weights, const at::Tensor& chosen, pkb::Comm& comm) {
  const at::Tensor is_chosen = at::zeros(weights.sizes(), weights.options().dtype(at::kFloat)).scatter_(-1, chosen, 1);
  at::Tensor loss = (is_chosen.mean(0) * weights.mean(0)).sum() * weights.size(-1);
  comm.all_reduce(loss);
  return loss.div_(comm.size());
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor weights = at::softmax(in["gate_logits"], -1);
  return {{"loss", mean_loss(weights, std::get<1>(at::topk(weights, in.integer("top_k"))), comm)}};
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor weights = at::softmax(in["gate_logits"], -1);
  const at::Tensor order = std::get<1>(at::sort(weights, /*stable=*/true, /*dim=*/-1, /*descending=*/true));
  return {{"loss", mean_loss(weights, order.narrow(-1, 0, in.integer("top_k")), comm)}};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
