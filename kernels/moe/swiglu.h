// SPDX-License-Identifier: Apache-2.0
//
// The MLP of an expert, down(silu(gate(x)) * up(x)), every step rounded to the type of its operands.
#pragma once

#include <pkb/reference.h>

#include <string>

namespace pkb {

/// x weight^T + bias, and where there is an adapter (LoRA) (x lora_a^T) lora_b^T on top of it.
struct Projection {
  at::Tensor weight, bias, lora_a, lora_b;

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor y = at::linear(x, weight, bias);
    return lora_a.defined() ? y.add_(at::linear(at::linear(x, lora_a), lora_b)) : y;
  }
};

struct Swiglu {
  Projection gate, up, down;

  at::Tensor operator()(const at::Tensor& x) const { return down(at::silu(gate(x)).mul_(up(x))); }
};

/// The inputs {gate,up,down}_proj_{weight,bias}.
inline Swiglu swiglu(const Inputs& in) {
  const auto projection = [&](const std::string& name) {
    return Projection{in[name + "_proj_weight"], in[name + "_proj_bias"], {}, {}};
  };
  return {projection("gate"), projection("up"), projection("down")};
}

/// Set number `set` of stacked ones [C, ..]; a single one serves every number.
inline Swiglu swiglu(const Inputs& in, int64_t set) {
  const auto part = [&](const at::Tensor& stacked) { return stacked.select(0, stacked.size(0) == 1 ? 0 : set); };
  const Swiglu all = swiglu(in);
  const auto projection = [&](const Projection& p) { return Projection{part(p.weight), part(p.bias), {}, {}}; };
  return {projection(all.gate), projection(all.up), projection(all.down)};
}

/// The same with the adapters lora_{gate,up,down}_{A,B}.
inline Swiglu swiglu_with_lora(const Inputs& in) {
  Swiglu mlp = swiglu(in);
  const auto adapt = [&](Projection& projection, const std::string& name) {
    projection.lora_a = in["lora_" + name + "_A"];
    projection.lora_b = in["lora_" + name + "_B"];
  };
  adapt(mlp.gate, "gate");
  adapt(mlp.up, "up");
  adapt(mlp.down, "down");
  return mlp;
}

}  // namespace pkb
