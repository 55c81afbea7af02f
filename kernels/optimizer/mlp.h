// SPDX-License-Identifier: Apache-2.0
//
// A perceptron with one hidden layer whose parameters are one flat vector: o = relu(x W1^T + b1) W2^T + b2.
#pragma once

#include <pkb/reference.h>

#include <vector>

namespace pkb {

/// W1 [hidden, d_in], b1 [hidden], W2 [d_out, hidden], b2 [d_out]: the flat vector holds them in this order.
struct MlpShape {
  int64_t d_in, hidden, d_out;
  int64_t size() const { return hidden * (d_in + d_out + 1) + d_out; }
};

struct Mlp {
  at::Tensor w1, b1, w2, b2;
};

inline MlpShape mlp_shape(const Inputs& in) {
  return {in.param("d_in"), in.param("hidden"), in.param("d_out")};
}

/// Views into the flat vector.
inline Mlp mlp_parts(const at::Tensor& flat, const MlpShape& shape) {
  const auto [d_in, hidden, d_out] = shape;
  const std::vector<at::Tensor> parts = flat.split_with_sizes({hidden * d_in, hidden, d_out * hidden, d_out});
  return {parts[0].view({hidden, d_in}), parts[1], parts[2].view({d_out, hidden}), parts[3]};
}

/// The tensors of these names, flattened and joined, as rank 0 has them: a copy.
inline at::Tensor of_rank_0(const Inputs& in, const std::vector<const char*>& names, Comm& comm) {
  std::vector<at::Tensor> parts;
  int64_t size = 0;
  for (const char* name : names) size += parts.emplace_back(in[name].view(-1)).numel();
  at::Tensor flat = comm.rank() == 0 ? at::cat(parts) : at::empty({size}, parts[0].options());
  comm.broadcast(flat, 0);
  return flat;
}

/// The gradient of the mean of (o - y)^2 with respect to the flat parameters; x [n, d_in], y [n, d_out]. Backward by
/// hand, with the operations that autograd would call, but into the flat vector right away.
inline at::Tensor mlp_gradient(const at::Tensor& parameters, const MlpShape& shape, const at::Tensor& x,
                               const at::Tensor& y) {
  const Mlp p = mlp_parts(parameters, shape);
  const at::Tensor h = at::linear(x, p.w1, p.b1).relu_();
  at::Tensor o = at::linear(h, p.w2, p.b2);

  const at::Tensor flat = at::empty_like(parameters);
  Mlp gradient = mlp_parts(flat, shape);
  // PyTorch scales with a number of the tensor's type.
  const at::BFloat16 scale(2.0f / static_cast<float>(y.numel()));
  const at::Tensor of_o = o.sub_(y).mul_(static_cast<float>(scale));
  at::mm_out(gradient.w2, of_o.t(), h);
  at::sum_out(gradient.b2, of_o, /*dim=*/0);
  const at::Tensor of_h = at::threshold_backward(at::mm(of_o, p.w2), h, 0);
  at::mm_out(gradient.w1, of_h.t(), x);
  at::sum_out(gradient.b1, of_h, /*dim=*/0);
  return flat;
}

}  // namespace pkb
