// SPDX-License-Identifier: Apache-2.0
//
// Inputs whose last tokens are padding.
#pragma once

#include <pkb/inputs.h>

#include <algorithm>
#include <limits>

namespace pkb {

/// x [B, T, ..]: this rank's tokens of a sequence of W*T. Those from the scalar unpadded_dim_size on become NaN.
inline void poison_padding(const DrawRequest& request, at::Tensor& x) {
  const int64_t length = std::get<int64_t>(request.scalars.at("unpadded_dim_size")), tokens = x.size(1);
  const int64_t kept = std::clamp<int64_t>(length - request.rank * tokens, 0, tokens);
  x.narrow(1, kept, tokens - kept).fill_(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace pkb
