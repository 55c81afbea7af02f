// SPDX-License-Identifier: Apache-2.0
#include "reference/draws.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "catalogue/catalogue.h"
#include "core/error.h"

namespace pkb {
namespace {

using Distribution = Device::Distribution;

constexpr const char* kEverybody = "all";

std::string owner_text(int rank) {
  return rank < 0 ? kEverybody : "rank " + std::to_string(rank);
}

std::string owner_text(const Instance& instance, const TensorSpec& spec) {
  switch (spec.scope) {
    case Scope::per_rank:
      return owner_text(instance.rank);
    case Scope::replicated:
    case Scope::slice:
      return kEverybody;
    case Scope::group:
      break;
  }
  for (const GroupInstance& group : instance.groups) {
    if (group.name != spec.scope_group) continue;
    std::string text = "group " + group.name;
    for (const int member : group.members) text += " " + std::to_string(member);
    return text;
  }
  throw Error("problem " + std::to_string(instance.problem->id) + ": input " + spec.name + " has scope group " +
              spec.scope_group + ", of which rank " + std::to_string(instance.rank) + " has none");
}

StreamName problem_and_case(const Instance& instance) {
  return StreamName().add(instance.problem->id).add(instance.problem->name).add(instance.case_name);
}

/// The base draws that inputs.cpp sees. Tensors of the same name, owner and kind as the catalogue's have the same
/// values.
class CustomDraws final : public Draws {
 public:
  CustomDraws(BaseDraws& base, StreamName prefix, int64_t draw, int64_t attempt = 0, const CustomDraws* first = nullptr)
      : base_(base), prefix_(prefix), draw_(draw), attempt_(attempt), first_(first != nullptr ? first : this) {}

  at::Tensor uniform(std::string_view stream, int rank, at::IntArrayRef shape, double low, double high) const override {
    return fill(at::kFloat, "uniform", stream, rank, shape, Distribution::uniform, low, high);
  }
  at::Tensor normal(std::string_view stream, int rank, at::IntArrayRef shape, double mean,
                    double sigma) const override {
    return fill(at::kFloat, "normal", stream, rank, shape, Distribution::normal, mean, sigma);
  }
  at::Tensor integers(std::string_view stream, int rank, at::IntArrayRef shape, int64_t low,
                      int64_t high) const override {
    return fill(at::kLong, "integers", stream, rank, shape, Distribution::integers, static_cast<double>(low),
                static_cast<double>(high));
  }
  at::Tensor permutation(std::string_view stream, int rank, int64_t n) const override {
    return base_.permutation(n, name("permutation", stream, rank), draw_);
  }
  const Draws& attempt(int64_t attempt) const override {
    if (attempt == 0) return *first_;
    auto& made = first_->attempts_[attempt];
    if (!made) made = std::make_unique<CustomDraws>(base_, prefix_, draw_, attempt, first_);
    return *made;
  }

 private:
  uint64_t name(const char* kind, std::string_view stream, int rank) const {
    StreamName full = prefix_;
    full.add(stream).add(owner_text(rank)).add(kind);
    if (attempt_ != 0) full.add(attempt_);
    return full.hash();
  }
  at::Tensor fill(at::ScalarType type, const char* kind, std::string_view stream, int rank, at::IntArrayRef shape,
                  Distribution distribution, double a, double b) const {
    at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(type).device(base_.torch_device()));
    base_.fill(tensor, name(kind, stream, rank), draw_, distribution, a, b);
    return tensor;
  }

  BaseDraws& base_;
  StreamName prefix_;
  int64_t draw_ = 0, attempt_ = 0;
  const CustomDraws* first_;
  mutable std::map<int64_t, std::unique_ptr<CustomDraws>> attempts_;  // of first_ alone
};

Distribution distribution_of(const std::string& kind, const std::string& where) {
  if (kind == "normal") return Distribution::normal;
  if (kind == "uniform") return Distribution::uniform;
  if (kind == "integers") return Distribution::integers;
  if (kind == "ternary") return Distribution::ternary;
  if (kind == "constant") return Distribution::constant;
  throw Error(where + ": unknown draw \"" + kind + "\"");
}

/// Rank r's part of one global tensor cut into equal parts along an axis.
Device::Slice slice_of(const Instance& instance, const TensorInstance& input) {
  const auto axis = static_cast<std::size_t>(input.spec->slice_axis);
  if (axis >= input.shape.size()) throw Error(label(instance, input) + " is sliced along an axis it does not have");
  int64_t inner = 1;
  for (std::size_t i = axis; i < input.shape.size(); ++i) inner *= input.shape[i];
  return {.first = instance.rank * inner, .stride = instance.world * inner, .inner = inner};
}

const DrawInstance& draw_of(const Instance& instance, const TensorInstance& input) {
  const auto found = instance.draws.find(input.name);
  if (found == instance.draws.end()) throw Error(label(instance, input) + " has no draw");
  return found->second;
}

void draw_input(BaseDraws& base, const Instance& instance, const TensorInstance& input, int64_t draw,
                const at::Tensor& tensor) {
  const DrawInstance& how = draw_of(instance, input);
  StreamName name = problem_and_case(instance);
  name.add(input.name).add(owner_text(instance, *input.spec)).add(how.kind);
  if (input.list_index >= 0) name.add(input.list_index);
  const bool sliced = input.spec->scope == Scope::slice;

  if (how.kind == "permutation") {
    if (sliced || how.arguments.empty() || static_cast<int64_t>(how.arguments[0]) != tensor.numel()) {
      throw Error(label(instance, input) + ": permutation(n) fills a whole tensor of n elements");
    }
    tensor.copy_(base.permutation(tensor.numel(), name.hash(), draw).view(tensor.sizes()));
    return;
  }
  const auto argument = [&](std::size_t i) { return i < how.arguments.size() ? how.arguments[i] : 0.0; };
  const Device::Slice whole{.first = 0, .stride = tensor.numel(), .inner = tensor.numel()};
  base.fill(tensor, sliced ? slice_of(instance, input) : whole, name.hash(), draw,
            distribution_of(how.kind, label(instance, input)), argument(0), argument(1));
}

bool is_custom(const Instance& instance, const TensorInstance& input) {
  return input.present && draw_of(instance, input).kind == "custom";
}

/// The drawn tensor, checked against what the catalogue declares.
const at::Tensor& custom_tensor(const DrawnInputs& drawn, const Instance& instance, const TensorInstance& input) {
  const std::string what = label(instance, input) + ": inputs.cpp ";
  const auto found = drawn.find(input.name);
  if (found == drawn.end()) throw Error(what + "does not make it");
  const at::Tensor* tensor = std::get_if<at::Tensor>(&found->second);
  if (input.list_index >= 0) {
    const auto* list = std::get_if<std::vector<at::Tensor>>(&found->second);
    if (list == nullptr || list->size() <= static_cast<std::size_t>(input.list_index))
      throw Error(what + "makes too short a list");
    tensor = &(*list)[static_cast<std::size_t>(input.list_index)];
  }
  if (tensor == nullptr || !tensor->defined()) throw Error(what + "leaves it out");
  if (tensor->scalar_type() != scalar_type_of(input.dtype) || !has_declared_shape(*tensor, input)) {
    throw Error(what + "makes " + describe(*tensor) + ", the catalogue declares " + std::string(name_of(input.dtype)) +
                " " + shape_text(input.shape));
  }
  return *tensor;
}

/// Constant tensors come from draw 0, the others from `draw`. True: a tensor has moved, its number of rows is another.
bool draw_custom(BaseDraws& base, const Instance& instance, InputsFunction custom, int64_t draw, bool constant,
                 Slot& slot, const Slot* sharer) {
  const auto wanted = [&](const TensorInstance& input) {
    return is_custom(instance, input) && input.spec->constant == constant && !(input.shared && sharer != nullptr);
  };
  std::map<std::string, std::string, std::less<>> customs;
  for (const TensorInstance& input : instance.inputs) {
    if (wanted(input)) customs[input.name] = draw_of(instance, input).custom_name;
  }
  if (customs.empty()) return false;
  if (custom == nullptr) {
    throw Error("problem " + std::to_string(instance.problem->id) +
                " has inputs with `draw: custom`, but no inputs.cpp");
  }
  const int64_t index = constant ? 0 : draw;
  const DrawRequest request{.rank = instance.rank,
                            .world = instance.world,
                            .case_name = instance.case_name,
                            .draw = index,
                            .params = instance.params,
                            .scalars = slot.inputs.scalars,
                            .device = base.torch_device(),
                            .customs = std::move(customs)};
  DrawnInputs drawn;
  custom(request, CustomDraws(base, problem_and_case(instance), index), drawn);
  bool moved = false;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!wanted(instance.inputs[i])) continue;
    const at::Tensor& made = custom_tensor(drawn, instance, instance.inputs[i]);
    at::Tensor& tensor = slot.tensors[i];
    if (tensor.sizes() != made.sizes()) {
      TensorInstance as_made = instance.inputs[i];
      as_made.shape = made.sizes().vec();
      tensor = allocate(as_made, base.torch_device());
      moved = true;
    }
    tensor.copy_(made);
  }
  return moved;
}

/// Dynamic tensors get their number of rows when they are drawn.
bool fits(const at::Tensor& tensor, const Instance& instance, const TensorInstance& input, at::Device device) {
  if (!tensor.defined() || tensor.scalar_type() != scalar_type_of(input.dtype)) return false;
  if (tensor.device() != (input.host ? at::Device(at::kCPU) : device)) return false;
  if (input.dynamic && is_custom(instance, input)) return has_declared_shape(tensor, input);
  return tensor.sizes() == at::IntArrayRef(input.shape);
}

}  // namespace

StreamName& StreamName::add(std::string_view part) {
  constexpr uint64_t kPrime = 0x100'0000'01b3ull;
  for (const char c : part) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  hash_ = (hash_ ^ 0xff) * kPrime;  // ends the part: ("ab", "c") is not ("a", "bc")
  return *this;
}

StreamName& StreamName::add(int64_t part) {
  return add(std::to_string(part));
}

void BaseDraws::fill(const at::Tensor& tensor, uint64_t name, int64_t draw, Distribution distribution, double a,
                     double b) {
  fill(tensor, {.first = 0, .stride = tensor.numel(), .inner = tensor.numel()}, name, draw, distribution, a, b);
}

void BaseDraws::fill(const at::Tensor& tensor, Device::Slice slice, uint64_t name, int64_t draw,
                     Distribution distribution, double a, double b) {
  static constexpr std::pair<at::ScalarType, Dtype> kTypes[] = {{at::kBFloat16, Dtype::bf16},
                                                                {at::kHalf, Dtype::fp16},
                                                                {at::kFloat, Dtype::fp32},
                                                                {at::kDouble, Dtype::fp64},
                                                                {at::kInt, Dtype::i32},
                                                                {at::kLong, Dtype::i64},
                                                                {at::kByte, Dtype::u8},
                                                                {at::kBool, Dtype::boolean},
                                                                {at::kFloat8_e4m3fn, Dtype::fp8_e4m3},
                                                                {at::kComplexFloat, Dtype::complex64}};
  if (tensor.numel() == 0) return;
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const auto& entry) { return entry.first == tensor.scalar_type(); });
  if (type == std::end(kTypes)) throw Error("no base draws for " + describe(tensor));
  const Device::DrawKey key{.seed = seed_, .stream = name, .draw = static_cast<uint64_t>(draw)};
  device_.draw(tensor.data_ptr(), type->second, tensor.numel(), slice, key, distribution, a, b, stream_);
  settle();
}

at::Tensor BaseDraws::permutation(int64_t n, uint64_t name, int64_t draw) {
  constexpr double kLargestKey = 2147483647;
  const at::Tensor keys = at::empty({n}, at::TensorOptions().dtype(at::kLong).device(torch_device_));
  fill(keys, name, draw, Distribution::integers, 0, kLargestKey);
  return std::get<1>(at::sort(keys, /*stable=*/true, /*dim=*/0, /*descending=*/false));
}

// LibTorch's CPU operations run in this thread, not on the stream.
void BaseDraws::settle() {
  if (torch_device_.is_cpu()) device_.synchronize(stream_);
}

bool draw_slot(BaseDraws& base, const Instance& instance, InputsFunction custom, int64_t draw, Slot& slot,
               const Slot* sharer) {
  bool moved = false;
  slot.inputs.params = instance.params;
  slot.inputs.scalars = scalars_of_draw(instance, draw);
  slot.tensors.resize(instance.inputs.size());
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const TensorInstance& input = instance.inputs[i];
    at::Tensor& tensor = slot.tensors[i];
    if (!input.present) {
      tensor.reset();
      continue;
    }
    if (input.shared && sharer != nullptr) {
      moved |= !tensor.is_same(sharer->tensors.at(i));
      tensor = sharer->tensors.at(i);
      continue;
    }
    if (!fits(tensor, instance, input, base.torch_device())) {
      tensor = allocate(input, base.torch_device());
      moved = true;
    }
    if (!is_custom(instance, input)) draw_input(base, instance, input, input.spec->constant ? 0 : draw, tensor);
  }
  moved |= draw_custom(base, instance, custom, draw, /*constant=*/false, slot, sharer);
  moved |= draw_custom(base, instance, custom, draw, /*constant=*/true, slot, sharer);
  slot.inputs.tensors = by_name(instance.problem->inputs, instance.inputs, slot.tensors);
  return moved;
}

}  // namespace pkb
