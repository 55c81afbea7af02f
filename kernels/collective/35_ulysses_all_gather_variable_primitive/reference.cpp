// SPDX-License-Identifier: Apache-2.0
//
// y = [x_0 | x_1 | ..]  joined along axis gather_dim, whose length differs by rank and is known to its rank only
// gather 0: x_s [m_s, N] (or 1 or 3 axes), y [sum of m_s, N];   gather 1: x_s [N, m_s];   bf16; every rank gets y
#include <pkb/reference.h>

#include <numeric>

namespace {

/// The length of `axis` of every rank's x.
std::vector<int64_t> lengths(const at::Tensor& x, int64_t axis, pkb::Comm& comm) {
  const at::Tensor shape = at::tensor(x.sizes(), at::TensorOptions().dtype(at::kLong)).to(x.device());
  at::Tensor shapes = at::empty({comm.size(), x.dim()}, shape.options());
  comm.sizes().all_gather_into_tensor(shapes, shape);
  const at::Tensor on_axis = shapes.cpu().select(1, axis).contiguous();
  return {on_axis.const_data_ptr<int64_t>(), on_axis.const_data_ptr<int64_t>() + comm.size()};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& group = comm.group(in.string("group"));
  const at::Tensor& x = in["x"];
  const int64_t axis = in.integer("gather_dim");
  const std::vector<int64_t> parts = lengths(x, axis, group);
  std::vector<int64_t> shape = x.sizes().vec();

  if (axis == 0) {  // the parts lie one behind the other in y
    shape[0] = std::accumulate(parts.begin(), parts.end(), int64_t{0});
    const at::Tensor y = at::empty(shape, x.options());
    std::vector<at::Tensor> places = y.split_with_sizes(parts);
    group.all_gather(places, x);
    return {{"y", y}};
  }
  std::vector<at::Tensor> received;
  for (const int64_t length : parts) {
    shape[static_cast<std::size_t>(axis)] = length;
    received.push_back(at::empty(shape, x.options()));
  }
  group.all_gather(received, x);
  return {{"y", at::cat(received, axis)}};
}
PKB_REFERENCE(baseline)
