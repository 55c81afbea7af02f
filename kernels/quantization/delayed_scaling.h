// SPDX-License-Identifier: Apache-2.0
//
// fp8 with delayed scaling, as Transformer Engine's recipe keeps a history of largest magnitudes: problems 52 and 53.
#pragma once

#include <ATen/ATen.h>

#include <limits>

namespace delayed_scaling {

/// The history [L], one step on: the oldest entry goes, the largest magnitude of x comes. bf16, x [n] bf16
inline at::Tensor rolled_history(const at::Tensor& history, const at::Tensor& x) {
  const at::Tensor largest = at::linalg_vector_norm(x, std::numeric_limits<double>::infinity(), {0}, /*keepdim=*/true);
  return at::cat({history.slice(0, 1), largest});
}

/// The fp32 scale [1] with which the history's largest entry becomes 448, the largest E4M3 number. Defined as a product
/// with fp32(1/448), which is what a division by a host number is on a GPU, though not on the CPU.
inline void scale_into(at::Tensor& scale, const at::Tensor& history) {
  const double least = c10::BFloat16(1e-12f);
  at::linalg_vector_norm_out(scale, history, std::numeric_limits<double>::infinity(), {0}, /*keepdim=*/true, at::kFloat)
      .clamp_min_(least)
      .mul_(1.0 / 448);
}

/// bf16(s * code), the product in fp32; a code is exact in bf16.
inline at::Tensor decoded(const at::Tensor& codes, const at::Tensor& scale) {
  return codes.to(at::kBFloat16).mul_(scale);
}

}  // namespace delayed_scaling
