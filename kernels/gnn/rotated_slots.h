// SPDX-License-Identifier: Apache-2.0
//
// Exchanges by rotated slots: slot i of rank r is peer (r + i) mod W, slot 0 the rank itself.
#pragma once

#include <pkb/inputs.h>

#include <numeric>
#include <vector>

namespace pkb {

/// Slot i of `rows` (sent[i] rows) goes to its peer; slot i of the result (received[i] rows) comes from its peer.
inline at::Tensor exchange_slots(const at::Tensor& rows, const at::Tensor& sent, const at::Tensor& received,
                                 Comm& comm) {
  const auto *out = sent.const_data_ptr<int64_t>(), *in = received.const_data_ptr<int64_t>();
  const int64_t ranks = comm.size();
  at::Tensor arrived = at::empty({std::accumulate(in, in + ranks, int64_t{0}), rows.size(1)}, rows.options());
  std::vector<at::Tensor> to(static_cast<std::size_t>(ranks)), from(static_cast<std::size_t>(ranks));
  for (int64_t i = 0, first_out = 0, first_in = 0; i < ranks; first_out += out[i], first_in += in[i], ++i) {
    const auto peer = static_cast<std::size_t>((comm.rank() + i) % ranks);
    to[peer] = rows.narrow(0, first_out, out[i]);
    from[peer] = arrived.narrow(0, first_in, in[i]);
  }
  comm.all_to_all(from, to);
  return arrived;
}

/// What rank r has to send and to receive by slot when rank p has floor(M/W * ((5p + 3q + 2pq) mod 8) / 4) feature rows
/// for rank q: uneven, asymmetric, with empty parts. i64 [W] on the host; rows in all.
struct SlotCounts {
  at::Tensor sent, received;
  int64_t rows_sent() const { return sent.sum().item<int64_t>(); }
  int64_t rows_received() const { return received.sum().item<int64_t>(); }
};

inline SlotCounts feature_counts(const DrawRequest& request) {
  const int64_t per_peer = request.param("M") / request.world, r = request.rank;
  const auto rows = [&](int64_t p, int64_t q) { return per_peer * ((5 * p + 3 * q + 2 * p * q) % 8) / 4; };
  std::vector<int64_t> sent, received;
  for (int64_t i = 0; i < request.world; ++i) {
    const int64_t peer = (r + i) % request.world;
    sent.push_back(rows(r, peer));
    received.push_back(rows(peer, r));
  }
  return {at::tensor(sent, at::kLong), at::tensor(received, at::kLong)};
}

}  // namespace pkb
