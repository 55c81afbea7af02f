// SPDX-License-Identifier: Apache-2.0
#include "catalogue/problem.h"

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

bool is_bit_for_bit(const TensorInstance& output, const Tolerance& tolerance) {
  if (!tolerance.exact()) return false;
  const ToleranceSpec& declared = output.spec->tolerance;
  return !is_floating(output.dtype) || (declared.atol.empty() && declared.rtol.empty() && declared.frobenius.empty());
}

}  // namespace pkb
