// SPDX-License-Identifier: Apache-2.0
#include "reference/tensors.h"

#include <sstream>

#include "core/error.h"

namespace pkb {

int64_t TensorView::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

at::ScalarType scalar_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return at::kBFloat16;
    case Dtype::fp16:
      return at::kHalf;
    case Dtype::fp32:
      return at::kFloat;
    case Dtype::fp64:
      return at::kDouble;
    case Dtype::fp8_e4m3:
      return at::kFloat8_e4m3fn;
    case Dtype::i32:
      return at::kInt;
    case Dtype::i64:
      return at::kLong;
    case Dtype::u8:
      return at::kByte;
    case Dtype::boolean:
      return at::kBool;
    case Dtype::complex64:
      return at::kComplexFloat;
  }
  throw Error("no LibTorch type for dtype " + std::to_string(static_cast<int>(dtype)));
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "nothing";
  std::ostringstream text;
  text << tensor.scalar_type() << " " << shape_text(tensor.sizes()) << " on " << tensor.device();
  return text.str();
}

std::string label(const Instance& instance, const TensorInstance& tensor) {
  const std::string index = tensor.list_index < 0 ? "" : "[" + std::to_string(tensor.list_index) + "]";
  return "problem " + std::to_string(instance.problem->id) + " (" + instance.problem->name + "): " + tensor.name +
         index;
}

bool has_declared_shape(const at::Tensor& tensor, const TensorInstance& declared) {
  const at::IntArrayRef shape(declared.shape);
  if (!declared.dynamic) return tensor.sizes() == shape;
  return tensor.dim() == static_cast<int64_t>(declared.shape.size()) && tensor.dim() > 0 &&
         tensor.numel() <= declared.capacity && tensor.sizes().slice(1) == shape.slice(1);
}

at::Tensor allocate(const TensorInstance& tensor, at::Device device) {
  const auto options = at::TensorOptions().dtype(scalar_type_of(tensor.dtype));
  if (!tensor.host) return at::empty_strided(tensor.shape, tensor.strides(), options.device(device));
  return at::empty_strided(tensor.shape, tensor.strides(), options.pinned_memory(device.is_cuda()));
}

std::map<std::string, Value, std::less<>> by_name(const std::vector<TensorSpec>& declared,
                                                  const std::vector<TensorInstance>& instances,
                                                  const std::vector<at::Tensor>& tensors) {
  std::map<std::string, Value, std::less<>> arguments;
  for (const TensorSpec& spec : declared) {
    if (!spec.count.empty()) arguments[spec.name] = std::vector<at::Tensor>();  // also where there is none in it
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInstance& instance = instances[i];
    Value& value = arguments[instance.name];
    if (!instance.present) continue;
    if (instance.list_index < 0) {
      value = tensors[i];
      continue;
    }
    if (!std::holds_alternative<std::vector<at::Tensor>>(value)) value = std::vector<at::Tensor>();
    std::get<std::vector<at::Tensor>>(value).push_back(tensors[i]);
  }
  return arguments;
}

TensorView view_of(const at::Tensor& tensor, const TensorInstance& declared) {
  // LibTorch gives null for the data of a tensor without elements, which here would mean "absent".
  static constexpr char kNoElements = 0;
  TensorView view{.dtype = declared.dtype, .shape = {}};
  if (!tensor.defined()) {
    view.shape = declared.shape;
    return view;
  }
  view.data = tensor.numel() == 0 ? &kNoElements : tensor.const_data_ptr();
  view.shape = tensor.sizes().vec();
  return view;
}

}  // namespace pkb
