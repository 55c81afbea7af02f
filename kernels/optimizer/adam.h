// SPDX-License-Identifier: Apache-2.0
//
// Adam, arXiv:1412.6980, and with decoupled weight decay, arXiv:1711.05101, in place:
// m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,
// p <- (1 - lr weight_decay) p - lr m / (1 - beta1^step) / ((v / (1 - beta2^step))^0.5 + eps)
#pragma once

#include <pkb/reference.h>

#include <cmath>

namespace pkb {

using AdamStep = void (*)(const at::Tensor& p, const at::Tensor& m, const at::Tensor& v, const at::Tensor& g,
                          const Inputs& in);

/// In fp32 between values of the tensors' type.
inline void adamw_step(const at::Tensor& p, const at::Tensor& m, const at::Tensor& v, const at::Tensor& g,
                       const Inputs& in) {
  const double decay = in.has_scalar("weight_decay") ? in.real("weight_decay") : 0;
  const at::Tensor step = at::full({}, in.integer("step"), p.options().dtype(at::kFloat));
  at::_fused_adamw_({p}, {g}, {m}, {v}, /*max_exp_avg_sqs=*/{}, {step}, in.real("lr"), in.real("beta1"),
                    in.real("beta2"), decay, in.real("eps"), /*amsgrad=*/false, /*maximize=*/false);
}

/// Without decay, as PyTorch's element-wise operations do it: rounded to the tensors' type after every one.
inline void rounded_adam_step(const at::Tensor& p, const at::Tensor& m, const at::Tensor& v, const at::Tensor& g,
                              const Inputs& in) {
  const double beta1 = in.real("beta1"), beta2 = in.real("beta2"), step = static_cast<double>(in.integer("step"));
  // Not mul_, which on the CPU rounds the number to bf16.
  m.copy_(m.mul(beta1).add_(g, 1 - beta1));
  v.copy_(v.mul(beta2).addcmul_(g, g, 1 - beta2));
  const at::Tensor denominator = v.div(1 - std::pow(beta2, step)).sqrt_().add_(in.real("eps"));
  p.add_(m.div(1 - std::pow(beta1, step)).div_(denominator).mul(-in.real("lr")));
}

}  // namespace pkb
