// SPDX-License-Identifier: Apache-2.0
//
// y = bias + conv2d(image, weight)       cross-correlation, zeros p wide around the image, fp32 sums rounded once
// image = [x_0 / x_1 / ..] [B, C, HG, Wd] from row blocks x, y its row block; weight [O, C, 2p+1, 2p+1], bias [O]; bf16
#include <pkb/reference.h>

namespace {

/// x with the p rows above and below it of the whole image; zeros where the image ends.
at::Tensor with_halo(const at::Tensor& x, int64_t p, pkb::Comm& comm) {
  const int64_t rows = x.size(2);
  const at::Tensor edges = at::stack({x.narrow(2, 0, p), x.narrow(2, rows - p, p)});
  at::Tensor all_edges = at::empty({comm.size(), 2, x.size(0), x.size(1), p, x.size(3)}, x.options());
  comm.all_gather_into_tensor(all_edges, edges);
  const int rank = comm.rank();
  const at::Tensor above = rank > 0 ? all_edges[rank - 1][1] : at::zeros_like(edges[1]);
  const at::Tensor below = rank + 1 < comm.size() ? all_edges[rank + 1][0] : at::zeros_like(edges[0]);
  return at::cat({above, x, below}, /*dim=*/2);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const int64_t p = in.integer("padding"), stride = in.integer("stride");
  const at::Tensor& x = in["x"];
  if (p == 0) return {{"y", at::conv2d(x, in["weight"], in["bias"], {stride, stride})}};
  return {{"y", at::conv2d(with_halo(x, p, comm), in["weight"], in["bias"], {stride, stride}, at::IntArrayRef{0, p})}};
}
PKB_REFERENCE(baseline)
