// SPDX-License-Identifier: Apache-2.0
//
// Adam's second moments as inputs: of the size that the square of a gradient has, so that a step is smooth in the
// gradient and of the size of the learning rate.
#pragma once

#include <pkb/inputs.h>

#include <cmath>
#include <string_view>

#include "optimizer/mlp.h"

namespace pkb {

inline MlpShape mlp_shape(const DrawRequest& request) {
  return {request.param("d_in"), request.param("hidden"), request.param("d_out")};
}

/// The size of a gradient of the perceptron's mean squared error.
inline double gradient_size(const DrawRequest& request) {
  return 2 / (request.params.at("d_out") * std::sqrt(request.params.at("n_total")));
}

/// (size u)^2,  u uniform in [0.5, 1.5]; bf16.
inline at::Tensor second_moment(const DrawRequest& request, const Draws& draws, std::string_view name,
                                at::IntArrayRef shape, double size) {
  return draws.uniform(name, request.rank, shape, 0.5 * size, 1.5 * size).square_().to(at::kBFloat16);
}

/// 1e-3 (s u)^2,  s the size of a gradient: of this rank's part of the flat parameters.
inline at::Tensor second_moment_part(const DrawRequest& request, const Draws& draws, std::string_view name) {
  const int64_t length = mlp_shape(request).size() / request.world;
  return second_moment(request, draws, name, {length}, std::sqrt(1e-3) * gradient_size(request));
}

}  // namespace pkb
