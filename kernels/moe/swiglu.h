// SPDX-License-Identifier: Apache-2.0
//
// The MLP of an expert, down(silu(gate(x)) * up(x)), every step rounded to the type of its operands.
#pragma once

#include <pkb/reference.h>

#include <string>
#include <vector>

namespace pkb {

/// x weight^T + bias, and where there is an adapter (LoRA) (x lora_a^T) lora_b^T on top of it, rounded before it is
/// added or not.
struct Projection {
  at::Tensor weight, bias, lora_a, lora_b;
  bool rounds_adapter = false;

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor y = at::linear(x, weight, bias);
    if (!lora_a.defined()) return y;
    const at::Tensor low = at::linear(x, lora_a);
    return rounds_adapter ? y.add_(at::linear(low, lora_b)) : y.addmm_(low, lora_b.t());
  }
};

struct Swiglu {
  Projection gate, up, down;

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor gated = gate(x);
    return down(at::silu_(gated).mul_(up(x)));
  }
};

/// The inputs {gate,up,down}_proj_{weight,bias}.
inline Swiglu swiglu(const Inputs& in) {
  const auto projection = [&](const std::string& name) {
    return Projection{in[name + "_proj_weight"], in[name + "_proj_bias"], {}, {}};
  };
  return {projection("gate"), projection("up"), projection("down")};
}

/// Of each of the sets of stacked weights [C, ..].
inline std::vector<Swiglu> stacked_swiglu(const Inputs& in) {
  const Swiglu all = swiglu(in);
  std::vector<Swiglu> sets(static_cast<std::size_t>(all.gate.weight.size(0)));
  const auto share_out = [&](Projection Swiglu::*projection) {
    const std::vector<at::Tensor> weights = (all.*projection).weight.unbind(), biases = (all.*projection).bias.unbind();
    for (std::size_t set = 0; set < sets.size(); ++set) sets[set].*projection = {weights[set], biases[set], {}, {}};
  };
  share_out(&Swiglu::gate);
  share_out(&Swiglu::up);
  share_out(&Swiglu::down);
  return sets;
}

/// swiglu() with the adapters lora_{gate,up,down}_{A,B}.
inline Swiglu swiglu_with_lora(const Inputs& in, bool rounds_adapters) {
  Swiglu mlp = swiglu(in);
  const auto adapt = [&](Projection& projection, const std::string& name) {
    projection.lora_a = in["lora_" + name + "_A"];
    projection.lora_b = in["lora_" + name + "_B"];
    projection.rounds_adapter = rounds_adapters;
  };
  adapt(mlp.gate, "gate");
  adapt(mlp.up, "up");
  adapt(mlp.down, "down");
  return mlp;
}

}  // namespace pkb
