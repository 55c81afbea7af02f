// SPDX-License-Identifier: Apache-2.0
#include "evaluate/order.h"

#include <utility>

namespace pkb {

// std::shuffle's order differs between standard libraries; a run must be repeatable everywhere.
std::vector<int32_t> shuffled_order(int calls, int draws, std::mt19937_64& random) {
  std::vector<int32_t> order(static_cast<std::size_t>(calls));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i % static_cast<std::size_t>(draws));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace pkb
