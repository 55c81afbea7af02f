// SPDX-License-Identifier: Apache-2.0
//
// z[t] = bf16(x1[t] bf16(sum over s of h[s] u[t-s] + bias u[t])),  u = bf16(x2 v)      of each channel, sums in fp32
// x1, x2, v [B, C, L] and z_seq [B, L, C] hold chunks r and 2W-1-r of the sequence's 2W; bf16
// h [C/group_dim, filter_len]: channel c has filter floor(c/group_dim); in between, rank r has all of C/W channels
#include <pkb/reference.h>

namespace {

/// All tokens of this rank's channels from x [B, C, L]: [W, B, C/W, 2, L/2], the two chunks of each rank.
at::Tensor to_channels(const at::Tensor& x, pkb::Comm& comm) {
  const at::Tensor sent = x.view({x.size(0), comm.size(), -1, 2, x.size(2) / 2}).transpose(0, 1).contiguous();
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  return received;
}

/// The same chunks in the order of the sequence: [B, C/W, T].
at::Tensor in_sequence(const at::Tensor& chunks) {
  using at::indexing::Slice;
  const at::Tensor chunk = at::arange(2 * chunks.size(0), chunks.options().dtype(at::kLong));
  const at::Tensor owner = at::minimum(chunk, chunk.flip(0));
  return chunks.permute({1, 2, 0, 3, 4})
      .index({Slice(), Slice(), owner, at::ne(chunk, owner).to(at::kLong)})
      .flatten(2);
}

/// z [B, C/W, T] back to this rank's tokens, all channels, as [B, L, C].
at::Tensor to_tokens(const at::Tensor& z, pkb::Comm& comm) {
  const int64_t batch = z.size(0), channels = z.size(1), ranks = comm.size();
  const at::Tensor chunk = at::arange(2 * ranks, z.options().dtype(at::kLong));
  const at::Tensor order = at::stack({chunk, chunk.flip(0)}, /*dim=*/1).flatten().narrow(0, 0, 2 * ranks);
  const at::Tensor sent = z.view({batch, channels, 2 * ranks, -1}).permute({2, 0, 1, 3}).index_select(0, order);
  at::Tensor received = at::empty_like(sent, at::MemoryFormat::Contiguous);
  comm.all_to_all_single(received, sent);
  return received.view({ranks, 2, batch, channels, -1}).permute({2, 1, 4, 0, 3}).flatten(3, 4).flatten(1, 2);
}

/// The causal convolution of u [B, C/W, T] with h [C/W/group_dim, filter_len], both fp32, by transforms of 2T points.
at::Tensor convolved(const at::Tensor& u, const at::Tensor& h) {
  const int64_t length = u.size(-1), points = 2 * length;
  const at::Tensor spectrum = at::fft_rfft(u, points).unflatten(1, at::IntArrayRef{h.size(0), -1});
  // "forward": 1/points scales the filter's spectrum, which is smaller than the result.
  const at::Tensor product = spectrum.mul_(at::fft_rfft(h, points, -1, "forward").unsqueeze(1));
  return at::fft_irfft(product, points, -1, "forward").narrow(-1, 0, length).flatten(1, 2);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor x1 = to_channels(in["x1_seq"], comm), x2 = to_channels(in["x2_seq"], comm);
  const at::Tensor v = to_channels(in["v_seq"], comm);
  const at::Tensor u = in_sequence(x2 * v).to(at::kFloat);

  const auto own = [&](const at::Tensor& x) { return x.chunk(comm.size())[comm.rank()].to(at::kFloat); };
  const at::Tensor h = own(in["h"]), bias = own(in["conv_bias"]).unsqueeze(-1);
  const at::Tensor y = at::addcmul(convolved(u, h), u, bias).to(at::kBFloat16);
  return {{"z_seq", to_tokens(in_sequence(x1) * y, comm)}};
}
PKB_REFERENCE(baseline)
