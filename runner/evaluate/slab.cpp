// SPDX-License-Identifier: Apache-2.0
#include "evaluate/slab.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "device/element.h"
#include "pkb/candidate.h"

namespace pkb {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int kFinitePoison = 0x7B;  // bytes that make a large number of every floating type

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Room of a tensor, never nothing, so that zero-row tensors have an address of their own.
int64_t room_of(const TensorInstance& tensor) {
  return aligned(std::max<int64_t>(tensor.capacity_bytes(), 1));
}

protocol::TensorMessage tensor_message(const TensorInstance& tensor, int64_t offset, int64_t rows_offset) {
  return {.dtype = static_cast<int32_t>(tensor.dtype),
          .shape = tensor.shape,
          .stride = tensor.strides(),
          .host = tensor.host,
          .capacity = tensor.capacity,
          .offset = tensor.present ? offset : -1,
          .rows_offset = tensor.present ? rows_offset : -1};
}

/// Unlike any value that kernels write, and different in every evaluation.
Device::DrawKey guard_key(uint64_t seed) {
  return {seed ^ 0x6775'6172'64ULL, 0, 0};
}

/// Appends a tensor to the argument of its name; members of a list stand next to each other.
void append(std::vector<protocol::ArgumentMessage>& arguments, const TensorInstance& tensor,
            const protocol::TensorMessage& message) {
  if (arguments.empty() || arguments.back().name != tensor.name) {
    arguments.push_back({tensor.name, tensor.list_index >= 0, {}});
  }
  arguments.back().tensors.push_back(message);
}

protocol::ScalarMessage scalar_message(const std::string& name, const Scalar& value) {
  protocol::ScalarMessage message;
  message.name = name;
  const auto as_integer = [&](int64_t integer) {
    message.integer = integer;
    message.real = static_cast<double>(integer);
  };
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    message.kind = PKB_SCALAR_INTEGER;
    as_integer(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    message.kind = PKB_SCALAR_FLOAT;
    message.real = *real;
    message.integer = static_cast<int64_t>(*real);
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    message.kind = PKB_SCALAR_BOOLEAN;
    as_integer(*boolean ? 1 : 0);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    message.kind = PKB_SCALAR_STRING;
    message.text = *text;
  } else if (const auto* list = std::get_if<IntegerList>(&value)) {
    message.kind = PKB_SCALAR_LIST;
    message.list = list->values;
    message.shape = list->shape;
  } else if (const auto* group = std::get_if<GroupName>(&value)) {
    message.kind = PKB_SCALAR_GROUP;
    message.text = group->name;
  }
  return message;
}

protocol::ScalarMessage param_message(const std::string& name, double value) {
  const bool whole = std::nearbyint(value) == value && std::abs(value) < 9e15;
  if (whole) return scalar_message(name, static_cast<int64_t>(value));
  return scalar_message(name, value);
}

/// Names the sequence of poison bytes of a tensor; only non-floating tensors use it.
Device::DrawKey poison_key(uint64_t seed, int slot, std::size_t index) {
  return {seed ^ 0x706f'6973'6f6eULL, static_cast<uint64_t>(index), static_cast<uint64_t>(slot)};
}

}  // namespace

bool is_in_place(const Instance& instance, const TensorInstance& output) {
  const auto& names = instance.problem->inplace;
  return std::find(names.begin(), names.end(), output.name) != names.end();
}

SlabLayout::SlabLayout(const Instance& instance, int slots) : slots_(slots) {
  for (const TensorInstance& input : instance.inputs) {
    int64_t& end = input.shared ? shared_bytes_ : slot_bytes_;
    if (is_in_place(instance, input)) end += kGuardBytes;
    inputs_.push_back(end);
    shared_.push_back(input.shared);
    end += room_of(input);
    if (is_in_place(instance, input)) end += kGuardBytes;
  }
  for (const TensorInstance& output : instance.outputs) {
    rows_.push_back(-1);
    output_bytes_.push_back(std::max<int64_t>(output.capacity_bytes(), 1));
    if (is_in_place(instance, output)) {
      const auto same = std::find_if(instance.inputs.begin(), instance.inputs.end(), [&](const TensorInstance& input) {
        return input.name == output.name && input.list_index == output.list_index;
      });
      if (same == instance.inputs.end()) throw Error("in-place output " + output.name + " is no input");
      outputs_.push_back(inputs_[static_cast<std::size_t>(same - instance.inputs.begin())]);
      continue;
    }
    slot_bytes_ += kGuardBytes;
    outputs_.push_back(slot_bytes_);
    slot_bytes_ += room_of(output) + kGuardBytes;
    if (output.dynamic) {
      rows_.back() = slot_bytes_;
      slot_bytes_ += kAlignment;
    }
  }
}

int64_t SlabLayout::rows(int slot, std::size_t index) const {
  return rows_[index] < 0 ? -1 : start_of(slot) + rows_[index];
}

Instance as_drawn(const Instance& instance, const ReferenceSide& reference, int slot) {
  Instance drawn = instance;
  for (std::size_t i = 0; i < drawn.inputs.size(); ++i) drawn.inputs[i].shape = reference.input(slot, i).shape;
  return drawn;
}

protocol::ArgumentsMessage arguments_of(const Instance& instance, const SlabLayout* layout, int slot,
                                        const std::map<std::string, Scalar, std::less<>>& scalars) {
  protocol::ArgumentsMessage message;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    append(message.inputs, instance.inputs[i],
           tensor_message(instance.inputs[i], layout ? layout->input(slot, i) : -1, -1));
  }
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    append(message.outputs, instance.outputs[i],
           tensor_message(instance.outputs[i], layout ? layout->output(slot, i) : -1,
                          layout ? layout->rows(slot, i) : -1));
  }
  for (const auto& [name, value] : instance.params) message.params.push_back(param_message(name, value));
  for (const auto& [name, value] : scalars) message.scalars.push_back(scalar_message(name, value));
  return message;
}

Slab::Slab(Device& device, Stream stream, const protocol::Json& handle, SlabLayout layout)
    : device_(device), stream_(stream), layout_(std::move(layout)) {
  const MemoryHandle memory = protocol::handle_from_json(handle);
  if (memory.bytes < static_cast<uint64_t>(layout_.bytes()))
    throw Error("the worker's slab is smaller than was asked for");
  base_ = static_cast<char*>(device_.open(memory));
}

Slab::~Slab() {
  if (base_) device_.close(base_);
}

template <class Function>
void Slab::for_each_guard(const Instance& instance, int slot, Function function) {
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    if (!instance.outputs[i].present) continue;
    function(i, base_ + layout_.output(slot, i) - SlabLayout::kGuardBytes);
    function(i, base_ + layout_.end_of_output(slot, i));
  }
}

void Slab::fill(const Instance& instance, const ReferenceSide& reference, int slot, uint64_t seed) {
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (instance.inputs[i].shared && slot > 0) continue;
    const TensorView view = reference.input(slot, i);
    const int64_t bytes = view.elements() * static_cast<int64_t>(size_of(view.dtype));
    if (view.present() && bytes > 0) {
      device_.copy(base_ + layout_.input(slot, i), view.data, static_cast<std::size_t>(bytes), stream_);
    }
  }
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const TensorInstance& output = instance.outputs[i];
    if (is_in_place(instance, output)) continue;
    // The whole room is poisoned, so that what lies behind a short output does not look right by chance either. Every
    // second slot gets a large finite number in place of NaN, which could be what is expected.
    char* const room = base_ + layout_.output(slot, i);
    const int64_t elements = std::max<int64_t>(output.capacity, 1);
    if (is_floating(output.dtype) && slot % 2 == 1) {
      device_.fill_bytes(room, kFinitePoison, static_cast<std::size_t>(elements) * size_of(output.dtype), stream_);
    } else {
      device_.poison(room, output.dtype, elements, poison_key(seed, slot, i), stream_);
    }
    if (layout_.rows(slot, i) >= 0) device_.fill_bytes(base_ + layout_.rows(slot, i), 0xFF, sizeof(int64_t), stream_);
  }
  for_each_guard(instance, slot, [&](std::size_t, void* guard) {
    device_.poison(guard, Dtype::u8, SlabLayout::kGuardBytes, guard_key(seed), stream_);
    if (guard_hash_ == 0) guard_hash_ = device_.hash(guard, SlabLayout::kGuardBytes, stream_);
  });
}

bool Slab::guards_intact(const Instance& instance, int slot, std::string& output) {
  bool intact = true;
  for_each_guard(instance, slot, [&](std::size_t i, const void* guard) {
    if (!intact || device_.hash(guard, SlabLayout::kGuardBytes, stream_) == guard_hash_) return;
    intact = false;
    output = instance.outputs[i].name;
  });
  return intact;
}

bool Slab::inputs_intact(const Instance& instance, const ReferenceSide& reference, int slot, MismatchDetail& detail) {
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const TensorInstance& input = instance.inputs[i];
    if (input.shared && slot > 0) continue;
    const TensorView view = reference.input(slot, i);
    if (!view.present() || view.elements() == 0 || is_in_place(instance, input)) continue;
    const auto comparison = device_.compare(base_ + layout_.input(slot, i), view.data, input.dtype, view.elements(),
                                            {.atol = 0, .rtol = 0, .bitwise = true}, stream_);
    if (comparison.wrong == 0) continue;
    describe(comparison, input, detail);
    return false;
  }
  return true;
}

bool Slab::outputs_match(const Instance& instance, const ReferenceSide& reference, int slot, MismatchDetail& detail,
                         OutputErrors& errors) {
  bool all_match = true;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const TensorInstance& output = instance.outputs[i];
    const TensorView expected = reference.expected(i);
    if (!expected.present()) continue;
    if (layout_.rows(slot, i) >= 0) {
      const int64_t rows = reported_rows(slot, i);
      const int64_t expected_rows = expected.shape.empty() ? 0 : expected.shape[0];
      if (rows != expected_rows && all_match) {
        detail.output = output.name + ".rows";
        detail.index = 0;
        detail.got = static_cast<double>(rows);
        detail.expected = static_cast<double>(expected_rows);
        detail.wrong = detail.elements = 1;
      }
      all_match = all_match && rows == expected_rows;
    }
    if (expected.elements() == 0 || output.spec->left_to_check) continue;
    MismatchDetail here = detail;
    const bool matches = output_matches(device_, stream_, output, instance.tolerances.at(output.name), expected,
                                        base_ + layout_.output(slot, i), here, errors);
    if (!matches && all_match) detail = here;
    all_match = all_match && matches;
  }
  return all_match;
}

std::vector<const void*> Slab::outputs(const Instance& instance, int slot) const {
  std::vector<const void*> addresses;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    addresses.push_back(instance.outputs[i].present ? base_ + layout_.output(slot, i) : nullptr);
  }
  return addresses;
}

int64_t Slab::reported_rows(int slot, std::size_t index) {
  if (layout_.rows(slot, index) < 0) return -1;
  int64_t rows = -1;
  device_.copy(&rows, base_ + layout_.rows(slot, index), sizeof rows, stream_);
  synchronize();
  return rows;
}

TensorView Slab::output(const Instance& instance, int slot, std::size_t index) {
  const TensorInstance& output = instance.outputs[index];
  TensorView view{.data = output.present ? base_ + layout_.output(slot, index) : nullptr,
                  .dtype = output.dtype,
                  .shape = output.shape};
  if (!output.dynamic || view.shape.empty()) return view;
  view.shape[0] = 1;
  const int64_t most = output.capacity / std::max<int64_t>(view.elements(), 1);
  const int64_t rows = reported_rows(slot, index);
  view.shape[0] = rows >= 0 && rows <= most ? rows : most;
  return view;
}

uint64_t Slab::hash_output(const ReferenceSide& reference, int slot, std::size_t index) {
  const TensorView expected = reference.expected(index);
  return device_.hash(base_ + layout_.output(slot, index),
                      static_cast<std::size_t>(expected.elements()) * size_of(expected.dtype), stream_);
}

}  // namespace pkb
