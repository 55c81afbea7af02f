// SPDX-License-Identifier: Apache-2.0
//
// z[t] = bf16(x1[t] bf16(sum over s of h[s] u[t-s] + bias u[t])),  u = bf16(x2 v)      of each channel, sums in fp32
// x1, x2, v [B, C, L] and z_seq [B, L, C] hold chunks r and 2W-1-r of the sequence's 2W; bf16
// h [C/group_dim, filter_len]: channel c has filter floor(c/group_dim); in between, rank r has all of C/W channels
#include <pkb/reference.h>

namespace {

/// x [B, C, L] by the rank that gets the channels: [W, B, C/W, L].
at::Tensor by_channel_owner(const at::Tensor& x, const pkb::Comm& comm) {
  return x.view({x.size(0), comm.size(), -1, x.size(2)}).transpose(0, 1);
}

/// The two chunks of each rank, arrived [W, B, C/W, L], as fp32 in the order of the sequence with as many zeros behind:
/// [B, C/W, 2T].
at::Tensor in_padded_sequence(const at::Tensor& arrived) {
  const int64_t ranks = arrived.size(0), half = arrived.size(3) / 2;
  const at::Tensor by_channel = arrived.permute({1, 2, 0, 3});
  const at::Tensor padded =
      at::zeros({arrived.size(1), arrived.size(2), 4 * ranks, half}, at::dtype(at::kFloat).device(arrived.device()));
  padded.narrow(2, 0, ranks).copy_(by_channel.narrow(3, 0, half));
  padded.narrow(2, ranks, ranks).copy_(by_channel.narrow(3, half, half).flip(2));
  return padded.flatten(2);
}

/// gate [W, B, C/W, L] in the order of arrival times y [B, C/W, T] in the order of the sequence, as it goes back to the
/// tokens' ranks: [W, B, L, C/W], channels last as in the result.
at::Tensor gated(const at::Tensor& gate, const at::Tensor& y) {
  const int64_t ranks = gate.size(0), half = gate.size(3) / 2;
  const at::Tensor z = at::empty({ranks, gate.size(1), 2 * half, gate.size(2)}, gate.options());
  const at::Tensor chunks = y.unflatten(2, at::IntArrayRef{2 * ranks, half}).permute({2, 0, 1, 3});
  const auto multiply = [&](int64_t first_token, const at::Tensor& of_rank) {
    at::Tensor part = z.narrow(2, first_token, half).transpose(2, 3);
    at::mul_out(part, gate.narrow(3, first_token, half), of_rank);
  };
  multiply(0, chunks.narrow(0, 0, ranks));
  multiply(half, chunks.narrow(0, ranks, ranks).flip(0));
  return z;
}

/// The causal convolution of u with h [C/W/group_dim, filter_len], both fp32, by transforms of 2T points;
/// padded [B, C/W, 2T]: u [B, C/W, T] and zeros.
at::Tensor convolved(const at::Tensor& padded, const at::Tensor& h) {
  const int64_t points = padded.size(-1);
  const at::Tensor spectrum = at::fft_rfft(padded).unflatten(1, at::IntArrayRef{h.size(0), -1});
  // "forward": 1/points scales the filter's spectrum, which is smaller than the result.
  const at::Tensor product = spectrum.mul_(at::fft_rfft(h, points, -1, "forward").unsqueeze(1));
  return at::fft_irfft(product, points, -1, "forward").flatten(1, 2).narrow(-1, 0, points / 2);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const int64_t ranks = comm.size();
  const at::Tensor x1 = in["x1_seq"], x2 = by_channel_owner(in["x2_seq"], comm),
                   v = by_channel_owner(in["v_seq"], comm);
  at::Tensor product = at::empty(x2.sizes(), x2.options()), u = at::empty_like(product), gate = at::empty_like(product);
  at::mul_out(product, x2, v);
  const auto u_arrives = comm.start_all_to_all_single(u, product);
  const auto gate_arrives = comm.start_all_to_all_single(gate, by_channel_owner(x1, comm).contiguous());

  const auto own = [&](const at::Tensor& x) { return x.chunk(ranks)[comm.rank()].to(at::kFloat); };
  const at::Tensor h = own(in["h"]), bias = own(in["conv_bias"]).unsqueeze(-1);
  u_arrives->wait();
  const at::Tensor padded = in_padded_sequence(u);
  const at::Tensor of_u = padded.narrow(-1, 0, padded.size(-1) / 2);
  const at::Tensor y = at::addcmul(convolved(padded, h), of_u, bias).to(at::kBFloat16);

  gate_arrives->wait();
  const at::Tensor z = gated(gate, y);
  at::Tensor received = at::empty_like(z);
  comm.all_to_all_single(received, z);
  return {{"z_seq", received.permute({1, 2, 0, 3}).flatten(2)}};
}
PKB_REFERENCE(baseline)
