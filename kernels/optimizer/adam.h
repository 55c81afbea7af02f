// SPDX-License-Identifier: Apache-2.0
//
// Adam, arXiv:1412.6980, on bf16 tensors as PyTorch's element-wise operations do it: rounded after every one.
#pragma once

#include <pkb/reference.h>

#include <cmath>

namespace pkb {

struct Moments {
  at::Tensor m, v;
};

/// m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2; the arguments keep their values.
inline Moments updated_moments(const at::Tensor& m, const at::Tensor& v, const at::Tensor& g, const Inputs& in) {
  const double beta1 = in.real("beta1"), beta2 = in.real("beta2");
  return {m.mul(beta1).add_(g, 1 - beta1), v.mul(beta2).addcmul_(g, g, 1 - beta2)};
}

/// (m / c1) / ((v / c2)^0.5 + eps),  c = 1 - beta^step: to be multiplied by the learning rate and subtracted.
inline at::Tensor adam_direction(const Moments& moments, const Inputs& in) {
  const double step = static_cast<double>(in.integer("step"));
  const double c1 = 1 - std::pow(in.real("beta1"), step), c2 = 1 - std::pow(in.real("beta2"), step);
  const at::Tensor denominator = moments.v.div(c2).sqrt_().add_(in.real("eps"));
  return moments.m.div(c1).div_(denominator);
}

/// p - lr direction; the product is rounded too.
inline at::Tensor adam_updated(const at::Tensor& p, const Moments& moments, const Inputs& in) {
  return adam_direction(moments, in).mul_(-in.real("lr")).add_(p);
}

}  // namespace pkb
