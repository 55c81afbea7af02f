// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace pkb {

/// The value of a scalar argument: null, integer, float, boolean, string, list of integers (nested: flat, with a
/// shape), or the name of a group.
struct IntegerList {
  std::vector<int64_t> values;
  std::vector<int64_t> shape;  ///< {values.size()} for a flat list
  bool operator==(const IntegerList&) const = default;
};
struct GroupName {
  std::string name;
  bool operator==(const GroupName&) const = default;
};
using Scalar = std::variant<std::monostate, int64_t, double, bool, std::string, IntegerList, GroupName>;

}  // namespace pkb
