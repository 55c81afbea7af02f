// SPDX-License-Identifier: Apache-2.0
#include "worker/argument_table.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/error.h"

namespace pkb {
namespace {

constexpr std::size_t kCacheLine = 64;

using protocol::ArgumentMessage;
using protocol::Json;
using protocol::ScalarMessage;
using protocol::TensorMessage;

pkb_tensor tensor_of(const TensorMessage& message) {
  pkb_tensor tensor{};
  tensor.dtype = message.dtype;
  tensor.ndim = static_cast<int32_t>(message.shape.size());
  std::ranges::copy(message.shape, tensor.shape);
  std::ranges::copy(message.stride, tensor.stride);
  tensor.place = message.host ? PKB_PLACE_HOST : PKB_PLACE_DEVICE;
  tensor.capacity = message.capacity;
  return tensor;
}

std::vector<std::vector<pkb_tensor>> tensors_of(const std::vector<ArgumentMessage>& messages) {
  std::vector<std::vector<pkb_tensor>> tensors;
  for (const ArgumentMessage& message : messages) {
    std::ranges::transform(message.tensors, std::back_inserter(tensors.emplace_back()), tensor_of);
  }
  return tensors;
}

/// Points into `names`, whose strings must not move any more, and into `tensors`.
std::vector<pkb_argument> arguments_of(const std::vector<ArgumentMessage>& messages, const std::string* names,
                                       const std::vector<std::vector<pkb_tensor>>& tensors) {
  std::vector<pkb_argument> arguments;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    arguments.push_back({.name = names[i].c_str(),
                         .is_list = messages[i].is_list ? 1 : 0,
                         .count = static_cast<int32_t>(tensors[i].size()),
                         .tensors = tensors[i].data()});
  }
  return arguments;
}

std::vector<pkb_scalar> scalars_of(const std::vector<ScalarMessage>& messages) {
  std::vector<pkb_scalar> scalars;
  for (const ScalarMessage& message : messages) {
    const bool has_text = message.kind == PKB_SCALAR_STRING || message.kind == PKB_SCALAR_GROUP;
    const bool is_list = message.kind == PKB_SCALAR_LIST;
    scalars.push_back({.name = message.name.c_str(),
                       .kind = message.kind,
                       .ndim = static_cast<int32_t>(message.shape.size()),
                       .integer = message.integer,
                       .real = message.real,
                       .string = has_text ? message.text.c_str() : nullptr,
                       .list = is_list ? message.list.data() : nullptr,
                       .shape = is_list ? message.shape.data() : nullptr});
  }
  return scalars;
}

int64_t bytes_of(const TensorMessage& message) {
  const auto size = static_cast<int64_t>(size_of(static_cast<Dtype>(message.dtype)));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(message.capacity, size, &bytes)) throw Error("a tensor's capacity is too large");
  return bytes;
}

char* inside(const Slab& slab, int64_t offset, int64_t bytes) {
  if (offset > slab.bytes || bytes > slab.bytes - offset) {
    throw Error("a tensor at byte " + std::to_string(offset) + " does not fit in the slab of " +
                std::to_string(slab.bytes));
  }
  return slab.base + offset;
}

Json section_offsets(const std::vector<ArgumentMessage>& messages) {
  Json section = Json::object();
  for (const ArgumentMessage& message : messages) {
    Json& offsets = section[message.name] = Json::array();
    for (const TensorMessage& tensor : message.tensors) offsets.push_back(tensor.offset);
  }
  return section;
}

/// A peer's address of a tensor; null where it has none.
void* peer_address(const Json& offsets, const char* section, const std::string& name, std::size_t index, char* base) {
  const Json& arguments = offsets.at(section);
  const auto found = arguments.find(name);
  if (found == arguments.end() || index >= found->size()) return nullptr;
  const auto offset = found->at(index).get<int64_t>();
  return offset < 0 ? nullptr : base + offset;
}

}  // namespace

Json tensor_offsets(const protocol::ArgumentsMessage& message) {
  return {{"inputs", section_offsets(message.inputs)}, {"outputs", section_offsets(message.outputs)}};
}

ArgumentTable::ArgumentTable(const protocol::ArgumentsMessage& message) {
  build(message);
}

ArgumentTable::ArgumentTable(const protocol::ArgumentsMessage& message, const Slab& slab,
                             const std::vector<Json>& ranks, DeviceKind device, HostMirrors& mirrors)
    : device_(device), mirrors_(&mirrors) {
  build(message);
  place(message.inputs, input_tensors_, "inputs", slab, ranks);
  place(message.outputs, output_tensors_, "outputs", slab, ranks);
}

void ArgumentTable::build(const protocol::ArgumentsMessage& message) {
  for (const ArgumentMessage& input : message.inputs) names_.push_back(input.name);
  for (const ArgumentMessage& output : message.outputs) names_.push_back(output.name);
  input_tensors_ = tensors_of(message.inputs);
  output_tensors_ = tensors_of(message.outputs);
  inputs_ = arguments_of(message.inputs, names_.data(), input_tensors_);
  outputs_ = arguments_of(message.outputs, names_.data() + message.inputs.size(), output_tensors_);
  param_values_ = message.params;
  scalar_values_ = message.scalars;
  params_ = scalars_of(param_values_);
  scalars_ = scalars_of(scalar_values_);
  arguments_ = {.struct_size = sizeof(pkb_arguments),
                .n_inputs = static_cast<int32_t>(inputs_.size()),
                .n_outputs = static_cast<int32_t>(outputs_.size()),
                .n_params = static_cast<int32_t>(params_.size()),
                .n_scalars = static_cast<int32_t>(scalars_.size()),
                .reserved = 0,
                .inputs = inputs_.data(),
                .outputs = outputs_.data(),
                .params = params_.data(),
                .scalars = scalars_.data()};
}

void ArgumentTable::place(const std::vector<ArgumentMessage>& messages, std::vector<std::vector<pkb_tensor>>& tensors,
                          const char* section, const Slab& slab, const std::vector<Json>& ranks) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (std::size_t j = 0; j < messages[i].tensors.size(); ++j) {
      const TensorMessage& message = messages[i].tensors[j];
      pkb_tensor& tensor = tensors[i][j];
      tensor.data = address_of(message, slab);
      if (message.rows_offset >= 0) {
        tensor.rows = reinterpret_cast<int64_t*>(inside(slab, message.rows_offset, sizeof(int64_t)));
      }
      if (slab.peers.empty() || message.host) continue;
      std::vector<void*>& peers = peers_.emplace_back();
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        peers.push_back(peer_address(ranks[rank], section, messages[i].name, j, slab.peers[rank]));
      }
      tensor.peers = peers.data();
    }
  }
}

void* ArgumentTable::address_of(const TensorMessage& message, const Slab& slab) {
  if (message.offset < 0) return nullptr;
  const int64_t bytes = bytes_of(message);
  char* const in_slab = inside(slab, message.offset, bytes);
  if (!message.host || device_ == DeviceKind::host) return in_slab;
  mirrored_.push_back(in_slab);
  return mirrors_->pinned(in_slab, static_cast<std::size_t>(bytes));
}

void ArgumentTable::warm() const {
  const auto read = [](const auto& vector) {
    const auto* const bytes = reinterpret_cast<const volatile unsigned char*>(vector.data());
    for (std::size_t at = 0; at < vector.size() * sizeof vector[0]; at += kCacheLine) static_cast<void>(bytes[at]);
  };
  read(names_);
  read(inputs_);
  read(outputs_);
  read(params_);
  read(scalars_);
  for (const auto* tensors : {&input_tensors_, &output_tensors_}) {
    for (const std::vector<pkb_tensor>& argument : *tensors) read(argument);
  }
  for (const std::vector<void*>& peers : peers_) read(peers);
}

void ArgumentTable::fetch(Stream stream) {
  for (char* const in_slab : mirrored_) mirrors_->fetch(in_slab, stream);
}

void ArgumentTable::store(Stream stream) {
  for (char* const in_slab : mirrored_) mirrors_->store(in_slab, stream);
}

HostMirrors::~HostMirrors() {
  for (const auto& [in_slab, mirror] : mirrors_) device_.free_pinned(mirror.pinned);
}

void* HostMirrors::pinned(char* in_slab, std::size_t bytes) {
  Mirror& mirror = mirrors_[in_slab];
  if (mirror.pinned != nullptr && mirror.bytes != bytes) {
    device_.free_pinned(mirror.pinned);
    mirror.pinned = nullptr;
  }
  if (mirror.pinned == nullptr) mirror = {device_.allocate_pinned(std::max<std::size_t>(bytes, 1)), bytes};
  return mirror.pinned;
}

void HostMirrors::fetch(char* in_slab, Stream stream) {
  const Mirror& mirror = mirrors_.at(in_slab);
  device_.copy(mirror.pinned, in_slab, mirror.bytes, stream);
}

void HostMirrors::store(char* in_slab, Stream stream) {
  const Mirror& mirror = mirrors_.at(in_slab);
  device_.copy(in_slab, mirror.pinned, mirror.bytes, stream);
}

}  // namespace pkb
