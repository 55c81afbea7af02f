// SPDX-License-Identifier: Apache-2.0
//
// y[b, c, t] = sum over k < K of weight[c, k] x[b, c, t + k - (K-1)],  x = 0 before the sequence; fp32, rounded once
// x, y [B, C, 2L] hold chunks r and 2W-1-r of the sequence's 2W, weight [C, 1, K] is the rank's own; bf16
#include <pkb/reference.h>

namespace {

/// The chunks of x [B, C, 2, L], each with the last columns of the chunk before it in front: [B, C, 2, columns + L].
at::Tensor with_halos(const at::Tensor& x, int64_t columns, pkb::Comm& comm) {
  using P2p = pkb::Comm::P2p;
  const int rank = comm.rank(), last = comm.size() - 1;
  const int64_t length = x.size(3);
  const at::Tensor tails = x.narrow(-1, length - columns, columns).permute({2, 0, 1, 3}).contiguous();
  const at::Tensor received = at::empty_like(tails);
  std::vector<P2p> operations;
  if (rank < last) operations.push_back({P2p::Kind::send, tails[0], rank + 1});
  if (rank < last) operations.push_back({P2p::Kind::receive, received[1], rank + 1});
  if (rank > 0) operations.push_back({P2p::Kind::send, tails[1], rank - 1});
  if (rank > 0) operations.push_back({P2p::Kind::receive, received[0], rank - 1});
  const auto exchange = comm.start_batch_send_receive(operations);

  const at::Tensor padded = at::empty({x.size(0), x.size(1), 2, columns + length}, x.options());
  padded.narrow(-1, columns, length).copy_(x);
  if (rank == 0) received[0].zero_();
  if (rank == last) received[1].copy_(tails[0]);
  exchange->wait();
  padded.narrow(-1, 0, columns).copy_(received.permute({1, 2, 0, 3}));
  return padded;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &x = in["x"], &weight = in["weight"];
  const int64_t channels = x.size(1), taps = weight.size(2);

  // The chunks of a channel are two channels of one convolution, whose result is then y as it stands.
  const at::Tensor chunks = x.unflatten(-1, at::IntArrayRef{2, -1});
  const at::Tensor padded = with_halos(chunks, taps - 1, comm).flatten(1, 2);
  const at::Tensor y = at::conv1d(padded, weight.repeat_interleave(2, /*dim=*/0), /*bias=*/{}, /*stride=*/1,
                                  /*padding=*/at::IntArrayRef{0}, /*dilation=*/1, /*groups=*/2 * channels);
  return {{"y", y.view(x.sizes())}};
}
PKB_REFERENCE(baseline)
