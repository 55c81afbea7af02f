// SPDX-License-Identifier: Apache-2.0
#include "catalogue/problem.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace pkb {

int Problem::line_of(std::string_view key) const {
  const auto found = key_lines.find(key);
  return found == key_lines.end() ? line : found->second;
}

std::string Problem::folder_name() const {
  return folder.substr(folder.rfind('/') + 1);
}

int64_t TensorInstance::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> TensorInstance::strides() const {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (spec != nullptr && !spec->layout.empty()) order = spec->layout;
  std::vector<int64_t> result(shape.size(), 1);
  int64_t step = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const auto index = static_cast<std::size_t>(*axis);
    result[index] = step;
    step *= std::max<int64_t>(shape[index], 1);
  }
  return result;
}

bool is_bit_for_bit(const TensorInstance& output, const Tolerance& tolerance) {
  if (!tolerance.exact()) return false;
  const ToleranceSpec& declared = output.spec->tolerance;
  return !is_floating(output.dtype) || (declared.atol.empty() && declared.rtol.empty() && declared.frobenius.empty());
}

}  // namespace pkb
