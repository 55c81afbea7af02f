// SPDX-License-Identifier: Apache-2.0
//
// M, S: all ranks' masks and scores in rank order, b = M > 0.   overlap[i, j]: i < j and |b_i & b_j| / |b_i | b_j| >= t
// A pair that overlaps suppresses the object of larger L = last_occluded (`reverse`: smaller) if the other's L > -1.
// masks_global = M, -10 where the object is suppressed; scores_global = S.
// masks [counts[r], H, Wd], scores [counts[r]] bf16; results fp32 and bool, the same on all ranks
#include <pkb/reference.h>

#include <numeric>

namespace {

/// Rows of all ranks, in rank order.
at::Tensor gather_rows(const at::Tensor& rows, const std::vector<int64_t>& counts, pkb::Comm& comm) {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const at::Tensor all = at::empty(shape, rows.options());
  std::vector<at::Tensor> parts = all.split_with_sizes(counts);
  comm.all_gather(parts, rows);
  return all;
}

at::Tensor overlapping_pairs(const at::Tensor& masks, double threshold) {
  at::Tensor inside = at::empty(masks.sizes(), masks.options().dtype(at::kFloat));
  inside = at::gt_out(inside, masks, 0).flatten(1);
  const at::Tensor common = at::matmul(inside, inside.t()), area = common.diagonal();
  const at::Tensor united = (area.unsqueeze(1) + area - common).clamp_min_(1);
  return (common / united >= threshold).triu(1);
}

at::Tensor suppressed(const at::Tensor& overlap, const at::Tensor& last_occluded, bool reverse) {
  const at::Tensor first = last_occluded.unsqueeze(1), second = last_occluded.unsqueeze(0);
  const at::Tensor first_loses = (reverse ? first < second : first > second) & (second > -1);
  const at::Tensor second_loses = (reverse ? second < first : second > first) & (first > -1);
  return (overlap & first_loses).any(1) | (overlap & second_loses).any(0);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &own_masks = in["masks"], &own_scores = in["scores"], &counts_tensor = in["counts"];
  const auto* first = counts_tensor.const_data_ptr<int64_t>();
  const std::vector<int64_t> counts(first, first + counts_tensor.numel());
  const int64_t own = counts[static_cast<std::size_t>(comm.rank())];
  TORCH_CHECK(own_masks.size(0) == own && own_scores.size(0) == own, "counts says ", own, " objects, but there are ",
              own_masks.size(0), " masks and ", own_scores.size(0), " scores");

  const at::Tensor masks = gather_rows(own_masks, counts, comm);
  const at::Tensor scores = gather_rows(own_scores, counts, comm).to(at::kFloat);
  const at::Tensor suppress =
      suppressed(overlapping_pairs(masks, in.real("iou_threshold")), in["last_occluded"], in.boolean("reverse"));
  return {{"masks_global", masks.to(at::kFloat).masked_fill_(suppress.view({-1, 1, 1}), -10)},
          {"scores_global", scores},
          {"to_suppress", suppress}};
}
PKB_REFERENCE(baseline)
