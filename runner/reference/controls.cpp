// SPDX-License-Identifier: Apache-2.0
#include "reference/controls.h"

#include <algorithm>
#include <cmath>

namespace pkb {
namespace {

/// The elements as they lie in memory; a view where there are no gaps.
at::Tensor in_memory_order(const at::Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense()) return tensor.contiguous().view({-1});
  return tensor.as_strided({tensor.numel()}, {1});
}

at::Tensor as_bytes(const at::Tensor& tensor) {
  return in_memory_order(tensor).view(at::kByte);
}

/// As many bytes as `like` has, from the start of `source` again and again.
at::Tensor repeated(const at::Tensor& source, const at::Tensor& like) {
  const at::Tensor bytes = as_bytes(source);
  at::Tensor result = at::empty_like(like);
  at::Tensor into = as_bytes(result);
  const int64_t times = (into.numel() + bytes.numel() - 1) / bytes.numel();
  into.copy_(bytes.repeat({times}).narrow(0, 0, into.numel()));
  return result;
}

bool holds_something(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0;
}

/// Undefined: this rank has no input at all.
at::Tensor source_for(const Instance& instance, const Slot& slot, const TensorInstance& output,
                      const at::Tensor& like) {
  at::Tensor of_dtype, any;
  for (std::size_t i = 0; i < slot.tensors.size(); ++i) {
    const at::Tensor& tensor = slot.tensors[i];
    if (!holds_something(tensor)) continue;
    const TensorInstance& input = instance.inputs[i];
    if (input.name == output.name && input.list_index == output.list_index) return tensor;
    if (!any.defined()) any = tensor;
    if (!of_dtype.defined() && tensor.scalar_type() == like.scalar_type()) of_dtype = tensor;
  }
  return of_dtype.defined() ? of_dtype : any;
}

void flip_lowest_bit(at::Tensor& flat, int64_t index) {
  at::Tensor byte = flat.narrow(0, index, 1).view(at::kByte).narrow(0, 0, 1);
  byte.bitwise_xor_(1);
}

double allowed(const Tolerance& tolerance, const at::Tensor& flat, double value) {
  const at::Tensor exact = at::abs(at::isComplexType(flat.scalar_type()) ? flat : flat.to(at::kDouble)).to(at::kDouble);
  const double squares = exact.square().sum().item<double>();
  const double rms = std::sqrt(squares / static_cast<double>(flat.numel()));
  const double element = tolerance.atol * (tolerance.atol_in_rms ? rms : 1) + tolerance.rtol * std::abs(value);
  return std::max(element, tolerance.frobenius * std::sqrt(squares));
}

/// Adds until the dtype shows it.
void push_away(at::Tensor element, double value, double distance) {
  for (double step = 3 * distance; std::isfinite(step); step *= 2) {
    for (const double wanted : {value + step, value - step}) {
      element.fill_(wanted);
      const double made = element.to(at::kDouble).item<double>();
      if (std::isfinite(made) && std::abs(made - value) > 2 * distance) return;
    }
  }
}

void change_one(at::Tensor& flat, int64_t index, const Tolerance& tolerance) {
  at::Tensor element = flat.narrow(0, index, 1);
  if (at::isComplexType(flat.scalar_type())) {
    element = at::view_as_real(element).select(1, 0);
  } else if (!at::isFloatingType(flat.scalar_type())) {
    return flip_lowest_bit(flat, index);
  }
  const double value = element.to(at::kDouble).item<double>();
  if (!std::isfinite(value)) {
    element.fill_(1);
    return;
  }
  const double distance = allowed(tolerance, flat, value);
  if (distance > 0) return push_away(element, value, distance);
  flip_lowest_bit(flat, index);
}

}  // namespace

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && at::equal(as_bytes(a), as_bytes(b));
}

ReferenceSide::Degenerate degeneracy_of(const Instance& instance, const Slot& slot, const at::Tensor& expected) {
  const at::Tensor flat = in_memory_order(expected);
  const at::Tensor elements = flat.view(at::kByte).view({flat.numel(), -1});
  const bool is_constant = at::equal(elements, elements.narrow(0, 0, 1).expand_as(elements));
  if (is_constant && elements.count_nonzero().item<int64_t>() == 0) return {"zeros", "all zero"};
  if (is_constant) return {"constant", "the same everywhere"};
  const bool can_be_nan = at::isFloatingType(flat.scalar_type()) || at::isComplexType(flat.scalar_type());
  if (can_be_nan &&
      flat.to(at::isComplexType(flat.scalar_type()) ? flat.scalar_type() : at::kDouble).isnan().all().item<bool>()) {
    return {"nan", "not a number"};
  }
  for (std::size_t i = 0; i < slot.tensors.size(); ++i) {
    const at::Tensor& input = slot.tensors[i];
    const bool same_size =
        input.defined() && input.scalar_type() == expected.scalar_type() && input.numel() == expected.numel();
    if (same_size && at::equal(as_bytes(input), as_bytes(expected.to(input.device()))))
      return {"input", "equal to input " + instance.inputs[i].name};
  }
  return {};
}

std::vector<at::Tensor> filled_like(const std::vector<at::Tensor>& like, double value) {
  std::vector<at::Tensor> filled;
  for (const at::Tensor& tensor : like) {
    filled.push_back(tensor.defined() ? at::empty_like(tensor).fill_(value) : tensor);
  }
  return filled;
}

std::vector<at::Tensor> inputs_as_outputs(const Instance& instance, const Slot& slot,
                                          const std::vector<at::Tensor>& like) {
  std::vector<at::Tensor> made;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const at::Tensor& tensor = like[i];
    const at::Tensor source = source_for(instance, slot, instance.outputs[i], tensor);
    if (!holds_something(tensor)) {
      made.push_back(tensor);
    } else if (!source.defined()) {
      made.push_back(at::zeros_like(tensor));
    } else {
      made.push_back(repeated(source.to(tensor.device()), tensor));
    }
  }
  return made;
}

std::vector<at::Tensor> off_by_one_element(const Instance& instance, const std::vector<at::Tensor>& right,
                                           uint64_t salt) {
  std::vector<at::Tensor> made;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!holds_something(right[i])) {
      made.push_back(right[i]);
      continue;
    }
    at::Tensor copy = right[i].clone();
    at::Tensor flat = in_memory_order(copy);
    const uint64_t mixed = (salt + i + 1) * 0x9E37'79B9'7F4A'7C15ull;
    const auto index = static_cast<int64_t>((mixed >> 16) % static_cast<uint64_t>(flat.numel()));
    change_one(flat, index, instance.tolerances.at(instance.outputs[i].name));
    made.push_back(copy);
  }
  return made;
}

}  // namespace pkb
