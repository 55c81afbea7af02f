// SPDX-License-Identifier: Apache-2.0
#include "reference/expected.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace pkb {
namespace {

Value copy_of(const Value& value) {
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) return tensor->clone();
  if (const auto* list = std::get_if<std::vector<at::Tensor>>(&value)) {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : *list) copies.push_back(tensor.clone());
    return copies;
  }
  return {};
}

/// The tensor that an entry of instance.outputs speaks of; undefined: there is none.
at::Tensor pick(const Value& value, const TensorInstance& output, const std::string& what) {
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (output.list_index < 0) {
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) return *tensor;
    throw Error(what + ": the reference returns a list, the catalogue declares one tensor");
  }
  const auto* list = std::get_if<std::vector<at::Tensor>>(&value);
  if (list == nullptr) throw Error(what + ": the reference returns one tensor, the catalogue declares a list");
  const auto index = static_cast<std::size_t>(output.list_index);
  return index < list->size() ? (*list)[index] : at::Tensor();
}

/// The same values, in memory as the catalogue wants them.
at::Tensor as_laid_out(const at::Tensor& tensor, const TensorSpec& spec) {
  if (spec.layout.empty()) return tensor.contiguous();
  const std::vector<int64_t> order(spec.layout.begin(), spec.layout.end());
  std::vector<int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int64_t>(i);
  return tensor.permute(order).contiguous().permute(back);
}

at::Tensor checked(const at::Tensor& tensor, const TensorInstance& output, const std::string& what, at::Device device) {
  if (tensor.defined() != output.present) {
    throw Error(what + ": the reference returns " + describe(tensor) + ", the catalogue declares it " +
                (output.present ? "present" : "absent") + " on this rank");
  }
  if (!output.present) return {};
  const std::string declared = std::string(name_of(output.dtype)) + " " + shape_text(output.shape);
  if (tensor.scalar_type() != scalar_type_of(output.dtype) || !has_declared_shape(tensor, output)) {
    throw Error(what + ": the reference returns " + describe(tensor) + ", the catalogue declares " + declared);
  }
  const at::Device place = output.host ? at::Device(at::kCPU) : device;
  if (tensor.device() != place) {
    throw Error(what + ": the reference returns " + describe(tensor) + ", the catalogue wants it on " + place.str());
  }
  const at::Tensor settled = as_laid_out(tensor, *output.spec);
  return output.host && device.is_cuda() ? settled.pin_memory() : settled;
}

void refuse_unknown(const Outputs& outputs, const Instance& instance) {
  for (const auto& [name, value] : outputs) {
    const bool known = std::any_of(instance.outputs.begin(), instance.outputs.end(),
                                   [&, &wanted = name](const TensorInstance& output) { return output.name == wanted; });
    if (known) continue;
    throw Error("problem " + std::to_string(instance.problem->id) + " (" + instance.problem->name +
                "): the reference returns \"" + name + "\", which the catalogue does not declare");
  }
}

bool shares_memory(const at::Tensor& tensor, const Slot& slot) {
  return tensor.defined() && std::any_of(slot.tensors.begin(), slot.tensors.end(), [&](const at::Tensor& input) {
           return input.defined() && tensor.is_alias_of(input);
         });
}

}  // namespace

bool is_changed_input(const Instance& instance, std::string_view input) {
  const auto& inplace = instance.problem->inplace;
  return std::find(inplace.begin(), inplace.end(), input) != inplace.end();
}

std::vector<at::Tensor> expected_outputs(const Instance& instance, ReferenceFunction answer, const Slot& slot,
                                         Comm& comm, at::Device device) {
  Inputs inputs = slot.inputs;
  for (auto& [name, value] : inputs.tensors) {
    if (is_changed_input(instance, name)) value = copy_of(value);
  }
  const Outputs outputs = answer(inputs, comm);
  refuse_unknown(outputs, instance);

  std::vector<at::Tensor> expected;
  for (const TensorInstance& output : instance.outputs) {
    const auto found = outputs.find(output.name);
    const std::string what = label(instance, output);
    at::Tensor tensor;
    if (found != outputs.end()) {
      tensor = pick(found->second, output, what);
    } else if (is_changed_input(instance, output.name)) {
      tensor = pick(inputs.tensors.at(output.name), output, what);
    }
    tensor = checked(tensor, output, what, device);
    // Expected values are scrubbed later; an output that is an input as it stands must not take the input with it.
    expected.push_back(shares_memory(tensor, slot) ? tensor.clone() : tensor);
  }
  return expected;
}

}  // namespace pkb
