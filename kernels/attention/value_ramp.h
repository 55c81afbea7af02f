// SPDX-License-Identifier: Apache-2.0
//
// Values that tell which token they belong to.
#pragma once

#include <pkb/inputs.h>

namespace pkb {

/// fp32 [tokens, 1, 1], to be added to values [B, tokens, H, D]: -2 .. 2 along the whole sequence of `ranks` equal
/// blocks, of which this is number `index`.
inline at::Tensor value_ramp(int64_t tokens, int64_t index, int64_t ranks, at::Device device) {
  const at::Tensor token = at::arange(index * tokens, (index + 1) * tokens, at::TensorOptions().dtype(at::kDouble));
  const double last = static_cast<double>(ranks * tokens - 1);
  return (token * 4 / last - 2).to(at::kFloat).to(device).view({tokens, 1, 1});
}

}  // namespace pkb
