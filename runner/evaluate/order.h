// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace pkb {

/// Which draw each of `calls` calls gets: every draw equally often, in an order that the candidate cannot foresee.
/// Ranks that pass generators in the same state get the same order.
std::vector<int32_t> shuffled_order(int calls, int draws, std::mt19937_64& random);

}  // namespace pkb
