// SPDX-License-Identifier: Apache-2.0
#include "reference/dump.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace pkb {
namespace {

/// The entry of this name; a new one when there is none yet.
TorchValue& entry(TorchDict& dict, const std::string& name, TorchValue fresh) {
  const auto found = std::find_if(dict.begin(), dict.end(), [&](const auto& item) { return item.first == name; });
  return found == dict.end() ? dict.emplace_back(name, std::move(fresh)).second : found->second;
}

/// Name -> value; the members of a list of tensors become one list.
void add(TorchDict& dict, const TensorInstance& tensor, TorchValue value) {
  if (tensor.list_index < 0) {
    dict.emplace_back(tensor.name, std::move(value));
  } else {
    std::get<TorchList>(entry(dict, tensor.name, TorchList())).push_back(std::move(value));
  }
}

TorchDict by_name(const std::vector<TensorInstance>& declared, const std::vector<TensorSpec>& specs,
                  const std::vector<at::Tensor>& tensors) {
  TorchDict dict;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    add(dict, declared[i], tensors.empty() ? TorchValue() : TorchValue(tensors[i]));
  }
  // Lists without a member here have no instance.
  for (const TensorSpec& spec : specs) {
    if (!spec.count.empty()) entry(dict, spec.name, TorchList());
  }
  return dict;
}

TorchList nested(const IntegerList& list, std::size_t axis, std::size_t& next) {
  TorchList values;
  const int64_t count = axis < list.shape.size() ? list.shape[axis] : 0;
  for (int64_t i = 0; i < count; ++i) {
    if (axis + 1 < list.shape.size()) {
      values.emplace_back(nested(list, axis + 1, next));
    } else {
      values.emplace_back(list.values.at(next++));
    }
  }
  return values;
}

TorchValue value_of(const Scalar& scalar) {
  return std::visit(
      [](const auto& value) -> TorchValue {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, IntegerList>) {
          std::size_t next = 0;
          return nested(value, 0, next);
        } else if constexpr (std::is_same_v<Type, GroupName>) {
          return value.name;
        } else {
          return value;
        }
      },
      scalar);
}

TorchValue number(double value) {
  const bool whole = std::nearbyint(value) == value && std::abs(value) < 9e15;
  return whole ? TorchValue(static_cast<int64_t>(value)) : TorchValue(value);
}

TorchDict params_of(const Instance& instance) {
  TorchDict dict;
  for (const auto& [name, value] : instance.params) {
    if (name != "W" && name != "r") dict.emplace_back(name, number(value));
  }
  return dict;
}

TorchDict scalars_of(const std::map<std::string, Scalar, std::less<>>& scalars) {
  TorchDict dict;
  for (const auto& [name, value] : scalars) dict.emplace_back(name, value_of(value));
  return dict;
}

TorchDict groups_of(const Instance& instance) {
  TorchDict dict;
  for (const GroupInstance& group : instance.groups) {
    TorchList members;
    for (const int member : group.members) members.emplace_back(int64_t{member});
    dict.emplace_back(group.name, std::move(members));
  }
  return dict;
}

TorchDict tolerances_of(const Instance& instance) {
  TorchDict dict;
  for (const TensorInstance& output : instance.outputs) {
    const auto found = instance.tolerances.find(output.name);
    if (found == instance.tolerances.end()) continue;
    const Tolerance& tolerance = found->second;
    TorchDict rule{{"atol", tolerance.atol},
                   {"rtol", tolerance.rtol},
                   {"frobenius", tolerance.frobenius},
                   {"in_rms", tolerance.atol_in_rms},
                   {"bitwise", is_bit_for_bit(output, tolerance)}};
    entry(dict, output.name, std::move(rule));
  }
  return dict;
}

/// What the candidate reported for its dynamic outputs.
TorchDict rows_of(const Instance& instance, const std::vector<int64_t>& rows) {
  TorchDict dict;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (instance.outputs[i].dynamic) add(dict, instance.outputs[i], rows[i]);
  }
  return dict;
}

}  // namespace

TorchDict dump_of(const Instance& instance, const Slot& slot, const std::vector<at::Tensor>& expected,
                  const std::vector<at::Tensor>& actual, const DumpDetails& details) {
  const Problem& problem = *instance.problem;
  return {{"problem", int64_t{problem.id}},
          {"name", problem.name},
          {"size", instance.size},
          {"case", instance.case_name},
          {"world", int64_t{instance.world}},
          {"rank", int64_t{instance.rank}},
          {"trial", int64_t{details.trial}},
          {"draw", details.draw},
          {"params", params_of(instance)},
          {"scalars", scalars_of(slot.inputs.scalars)},
          {"groups", groups_of(instance)},
          {"tolerance", tolerances_of(instance)},
          {"inputs", by_name(instance.inputs, problem.inputs, slot.tensors)},
          {"expected", by_name(instance.outputs, problem.outputs, expected)},
          {"actual", by_name(instance.outputs, problem.outputs, actual)},
          {"rows", rows_of(instance, details.rows)}};
}

}  // namespace pkb
