// SPDX-License-Identifier: Apache-2.0
//
// Weights of attention layers.
#pragma once

#include <pkb/inputs.h>

#include <cmath>

namespace pkb {

/// bf16 [3*rows, width], normal: value rows with sigma width^-0.5, the query and key rows before them `sharpness` times
/// that, so that the scores of normal inputs have a standard deviation of sharpness^2.
inline at::Tensor qkv_weights(const Draws& draws, std::string_view stream, int64_t rows, int64_t width,
                              double sharpness) {
  const double sigma = 1 / std::sqrt(static_cast<double>(width));
  at::Tensor weights = draws.normal(stream, /*rank=*/-1, {3 * rows, width}, 0, sigma);
  weights.narrow(0, 0, 2 * rows).mul_(sharpness);
  return weights.to(at::kBFloat16);
}

}  // namespace pkb
