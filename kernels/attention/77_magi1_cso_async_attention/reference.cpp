// SPDX-License-Identifier: Apache-2.0
//
// O_i = softmax(Q_i K[a:e]^T D^-0.5) V[a:e],  (a, e) = k_ranges[i],  for each range i of tokens and each head
// Rank r has all tokens of its heads in between: K, V [R*chunk, Hkv/W, D], of each range the first `chunk` tokens of
// all ranks' n each; Q_i, O_i [W*n, Hq/W, D]. Before and after a rank has n tokens of each range with all heads: query,
// out [R*n, Hq, D], key_value [R*n, Hkv, 2*D], bf16; query heads share the key heads evenly; scores are fp32
#include <algorithm>

#include "common/owner_exchange.h"

namespace {

/// For every rank its heads of all own tokens: [W, R*n, heads, 2*D].
at::Tensor by_rank(const at::Tensor& key_value, int64_t ranks) {
  const int64_t heads = key_value.size(1);
  const bool repeat = heads < ranks && ranks % heads == 0;
  const at::Tensor all = repeat ? key_value.repeat_interleave(ranks / heads, 1) : key_value;
  return all.unflatten(1, at::IntArrayRef{ranks, -1}).movedim(1, 0).contiguous();
}

/// [tokens of KV, Hkv/W, 2*D]: all ranks' tokens, range by range, without what lies behind `chunk` (0: nothing does).
at::Tensor in_order(const at::Tensor& slices, int64_t ranges, int64_t chunk) {
  const int64_t ranks = slices.size(0), part = slices.size(1) / ranges, length = chunk > 0 ? chunk : ranks * part;
  const at::Tensor joined = at::empty({ranges, length, slices.size(2), slices.size(3)}, slices.options());
  for (int64_t source = 0; source * part < length; ++source) {
    const int64_t tokens = std::min(part, length - source * part);
    joined.narrow(1, source * part, tokens)
        .copy_(slices[source].unflatten(0, at::IntArrayRef{ranges, part}).narrow(1, 0, tokens));
  }
  return joined.flatten(0, 1);
}

/// query [W*n, heads, D], key_value [keys, heads', 2*D].
at::Tensor attend(const at::Tensor& query, const at::Tensor& key_value) {
  const auto heads_first = [](const at::Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
  const int64_t size = query.size(-1);
  const at::Tensor out = at::scaled_dot_product_attention(
      heads_first(query), heads_first(key_value.narrow(-1, 0, size)), heads_first(key_value.narrow(-1, size, size)),
      /*attn_mask=*/{}, /*dropout_p=*/0, /*is_causal=*/false, /*scale=*/{},
      /*enable_gqa=*/query.size(1) != key_value.size(1));
  return out.squeeze(0).transpose(0, 1).contiguous();
}

/// The same in fp32 throughout: the baseline's kernel rounds the softmax to bf16.
at::Tensor attend_exactly(const at::Tensor& query, const at::Tensor& key_value) {
  const at::Tensor key_value_of_each = key_value.repeat_interleave(query.size(1) / key_value.size(1), 1);
  return attend(query.to(at::kFloat), key_value_of_each.to(at::kFloat)).to(query.scalar_type());
}

template <typename Attend>
pkb::Outputs run(const pkb::Inputs& in, pkb::Comm& comm, Attend&& attend_range) {
  const at::Tensor& query = in["query"];
  const int64_t ranges = in.integer("cp_shuffle_num"), ranks = comm.size(), tokens = query.size(0) / ranges;
  const int64_t heads = query.size(1) / ranks, size = query.size(2);
  const pkb::OnHost k_ranges(in["k_ranges"]);
  const auto start = [&](at::Tensor to, const at::Tensor& from) { return comm.start_all_to_all_single(to, from); };

  const at::Tensor sent_keys = by_rank(in["key_value"], ranks), arrived_keys = at::empty_like(sent_keys);
  const auto keys = start(arrived_keys, sent_keys);
  const at::Tensor sent = query.view({ranges, tokens, ranks, heads, size}).transpose(1, 2).contiguous();
  const at::Tensor arrived = at::empty_like(sent), received = at::empty_like(sent);  // [R, W, n, Hq/W, D]
  std::vector<std::unique_ptr<pkb::Work>> queries, homeward;
  for (int64_t i = 0; i < ranges; ++i) queries.push_back(start(arrived[i], sent[i]));

  keys->wait();
  const at::Tensor key_value = in_order(arrived_keys, ranges, in.integer("clip_token_nums"));
  const std::vector<int64_t> bounds = k_ranges.list();
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto range = static_cast<int64_t>(i);
    queries[i]->wait();
    const int64_t first = bounds[2 * i], end = bounds[2 * i + 1];
    const at::Tensor out = attend_range(arrived[range].flatten(0, 1), key_value.narrow(0, first, end - first));
    homeward.push_back(start(received[range], out.view(received[range].sizes())));
  }
  for (const auto& work : homeward) work->wait();
  return {{"out", received.transpose(1, 2).flatten(2, 3).flatten(0, 1)}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return run(in, comm, attend);
}
pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return run(in, comm, attend_exactly);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
