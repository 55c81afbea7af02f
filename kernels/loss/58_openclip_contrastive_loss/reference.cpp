// SPDX-License-Identifier: Apache-2.0
//
// loss = sum over j of B_j,  B_j = 1/b sum over i, k of log(1 + e^(-y Z)),  Z = (logit_scale I) X_j^T + logit_bias
// I = image_features, X_j = rank j's text_features [b, D]; y = 1 where i = k and j = r, else -1; every rank has another
// loss []; all bf16, rounded after every step, sums in fp32; j = r, r+1, r-1, r+2, r-2, .. mod W, in this order
#include <pkb/reference.h>

namespace {

/// B_j by rank j [W].
at::Tensor block_losses(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& texts = in["text_features"];
  const int64_t ranks = comm.size(), count = texts.size(0);
  // Minus the logits: all pairs but the own are negatives.
  const at::Tensor images = in["image_features"] * -in.real("logit_scale");
  at::Tensor all_texts = at::empty({ranks * count, texts.size(1)}, texts.options());
  comm.all_gather_into_tensor(all_texts, texts);
  at::Tensor negated = at::matmul(images, all_texts.t()).sub_(in.real("logit_bias"));
  negated.diagonal(comm.rank() * count).neg_();
  const float share = 1 / static_cast<float>(count);
  return at::log_sigmoid(negated).view({count, ranks, count}).sum(at::IntArrayRef{0, 2}).mul_(-share);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return {{"loss", block_losses(in, comm).sum()}};
}

/// Rounded after every addition, in the order of the mathematics above.
pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  const int64_t ranks = comm.size(), own = comm.rank();
  const at::Tensor losses = block_losses(in, comm);
  at::Tensor loss = losses[own].clone();
  for (int64_t step = 1; step <= ranks / 2; ++step) {
    if (2 * step < ranks) loss.add_(losses[(own + step) % ranks]);
    loss.add_(losses[(own + ranks - step) % ranks]);
  }
  return {{"loss", loss}};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
