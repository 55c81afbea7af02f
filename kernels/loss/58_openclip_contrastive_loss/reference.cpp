// SPDX-License-Identifier: Apache-2.0
//
// loss = sum over j of B_j,  B_j = 1/b sum over i, k of log(1 + e^(-y Z)),  Z = (logit_scale I) X_j^T + logit_bias
// I = image_features, X_j = rank j's text_features [b, D]; y = 1 where i = k and j = r, else -1; every rank has another
// loss []; all bf16, rounded after every step, sums in fp32; j = r, r+1, r-1, r+2, r-2, .. mod W, in this order
#include <pkb/reference.h>

namespace {

at::Tensor block_loss(const at::Tensor& scaled_images, const at::Tensor& texts, double bias, bool own) {
  at::Tensor negated = at::matmul(scaled_images, texts.t()).add_(bias).neg_();
  if (own) negated.diagonal().neg_();
  const float share = 1 / static_cast<float>(texts.size(0));
  return at::log_sigmoid(negated).sum().mul_(-share);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  using P2p = pkb::Comm::P2p;
  const int ranks = comm.size(), right = (comm.rank() + 1) % ranks, left = (comm.rank() + ranks - 1) % ranks;
  const at::Tensor& texts = in["text_features"];
  const double bias = in.real("logit_bias");
  const at::Tensor images = in["image_features"] * in.real("logit_scale");
  at::Tensor loss = block_loss(images, texts, bias, /*own=*/true);

  at::Tensor from_left = texts, from_right = texts;
  for (int step = 1; step <= ranks / 2; ++step) {
    const bool both_ways = 2 * step < ranks;  // or the two ways meet, and the last texts need to come only one of them
    const at::Tensor next_left = at::empty_like(texts), next_right = at::empty_like(texts);
    std::vector<P2p> operations{{P2p::Kind::send, from_left, right}, {P2p::Kind::receive, next_left, left}};
    if (both_ways) operations.push_back({P2p::Kind::send, from_right, left});
    if (both_ways) operations.push_back({P2p::Kind::receive, next_right, right});
    comm.batch_send_receive(operations);
    from_left = next_left;
    from_right = next_right;
    if (both_ways) loss.add_(block_loss(images, from_right, bias, /*own=*/false));
    loss.add_(block_loss(images, from_left, bias, /*own=*/false));
  }
  return {{"loss", loss}};
}
PKB_REFERENCE(baseline)
