// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <set>

#include "pkb/candidate.h"
#include "worker/fields.h"
#include "worker/protocol.h"

namespace pkb::protocol {
namespace {

constexpr int64_t kAnyInteger = std::numeric_limits<int64_t>::max();
constexpr std::size_t kLongestList = 1 << 20;
constexpr int64_t kMostThreads = 1 << 22;
constexpr std::size_t kLongestReason = 64 << 10;

Json to_json(const TensorMessage& tensor) {
  return {{"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"stride", tensor.stride},
          {"host", tensor.host},
          {"capacity", tensor.capacity},
          {"offset", tensor.offset},
          {"rows_offset", tensor.rows_offset}};
}

TensorMessage tensor_from(const Json& json) {
  TensorMessage tensor;
  tensor.dtype = static_cast<int32_t>(integer_field(json, "dtype", PKB_BF16, PKB_COMPLEX64));
  tensor.shape = integers_field(json, "shape", PKB_MAX_NDIM);
  tensor.stride = integers_field(json, "stride", PKB_MAX_NDIM);
  if (tensor.stride.size() != tensor.shape.size()) refuse("'stride' and 'shape' differ in length");
  if (std::ranges::any_of(tensor.shape, [](int64_t extent) { return extent < 0; })) refuse("'shape' is negative");
  tensor.host = boolean_field(json, "host");
  tensor.capacity = integer_field(json, "capacity", 0, kAnyInteger);
  tensor.offset = integer_field(json, "offset", -1, kAnyInteger);
  tensor.rows_offset = integer_field(json, "rows_offset", -1, kAnyInteger);
  return tensor;
}

Json to_json(const ArgumentMessage& argument) {
  Json tensors = Json::array();
  for (const TensorMessage& tensor : argument.tensors) tensors.push_back(to_json(tensor));
  return {{"name", argument.name}, {"is_list", argument.is_list}, {"tensors", std::move(tensors)}};
}

ArgumentMessage argument_from(const Json& json) {
  ArgumentMessage argument;
  argument.name = string_field(json, "name");
  argument.is_list = boolean_field(json, "is_list");
  for (const Json& tensor : array_field(json, "tensors", kLongestList)) argument.tensors.push_back(tensor_from(tensor));
  if (!argument.is_list && argument.tensors.size() != 1) refuse("'" + argument.name + "' is not one tensor");
  return argument;
}

Json to_json(const ScalarMessage& scalar) {
  return {{"name", scalar.name}, {"kind", scalar.kind}, {"integer", scalar.integer}, {"real", scalar.real},
          {"text", scalar.text}, {"list", scalar.list}, {"shape", scalar.shape}};
}

ScalarMessage scalar_from(const Json& json) {
  ScalarMessage scalar;
  scalar.name = string_field(json, "name");
  scalar.kind = static_cast<int32_t>(integer_field(json, "kind", PKB_SCALAR_NULL, PKB_SCALAR_GROUP));
  scalar.integer = integer_field(json, "integer", std::numeric_limits<int64_t>::min(), kAnyInteger);
  // A scalar may well be infinite or NaN (a mask value); only its type is checked.
  const Json& real = field(json, "real");
  if (!real.is_number()) refuse("'real' is no number");
  scalar.real = real.get<double>();
  scalar.text = string_field(json, "text");
  scalar.list = integers_field(json, "list", kLongestList);
  scalar.shape = integers_field(json, "shape", PKB_MAX_NDIM);
  return scalar;
}

template <class Message>
Json list_of(const std::vector<Message>& messages) {
  Json list = Json::array();
  for (const Message& message : messages) list.push_back(to_json(message));
  return list;
}

template <class Message>
std::vector<Message> list_from(const Json& json, std::string_view name, Message (*from)(const Json&)) {
  std::vector<Message> messages;
  for (const Json& entry : array_field(json, name, kLongestList)) messages.push_back(from(entry));
  return messages;
}

void check_time_reply(const Json& request, const Json& reply) {
  const auto asked = request.get<TimeRequest>();
  const auto times = reply.get<TimeReply>();
  const bool per_call = asked.mode == TimeRequest::Mode::each || asked.mode == TimeRequest::Mode::isolated;
  if (times.call_us.size() != (per_call ? asked.draws.size() : 0))
    refuse("'call_us' has another length than was asked");
  if (asked.mode != TimeRequest::Mode::graph && !times.not_captured.empty())
    refuse("'not_captured' outside graph mode");
}

std::vector<int32_t> draws_field(const Json& json, const char* key) {
  std::vector<int32_t> draws;
  for (const int64_t draw : integers_field(json, key, kLongestList)) {
    if (draw < 0 || draw > std::numeric_limits<int32_t>::max()) refuse("'" + std::string(key) + "' is out of range");
    draws.push_back(static_cast<int32_t>(draw));
  }
  return draws;
}

}  // namespace

Json to_json(const MemoryHandle& handle) {
  const std::vector<uint8_t> payload(handle.payload.begin(), handle.payload.end());
  return {{"kind", static_cast<int32_t>(handle.kind)},
          {"bytes", handle.bytes},
          {"offset", handle.offset},
          {"payload", Json::binary(payload)}};
}

MemoryHandle handle_from_json(const Json& json) {
  MemoryHandle handle;
  handle.kind = static_cast<MemoryHandle::Kind>(integer_field(json, "kind", 0, 4));
  handle.bytes = static_cast<uint64_t>(integer_field(json, "bytes", 0, kAnyInteger));
  handle.offset = static_cast<uint64_t>(integer_field(json, "offset", 0, kAnyInteger));
  if (handle.offset > handle.bytes) refuse("'offset' lies outside the allocation");
  const Json& payload = field(json, "payload");
  if (!payload.is_binary()) refuse(std::string("'payload' is ") + payload.type_name() + ", not binary");
  if (payload.get_binary().size() != handle.payload.size()) refuse("'payload' has another length");
  std::ranges::copy(payload.get_binary(), handle.payload.begin());
  return handle;
}

void to_json(Json& json, const ArgumentsMessage& message) {
  json = {{"inputs", list_of(message.inputs)},
          {"outputs", list_of(message.outputs)},
          {"params", list_of(message.params)},
          {"scalars", list_of(message.scalars)}};
}

void from_json(const Json& json, ArgumentsMessage& message) {
  message.inputs = list_from(json, "inputs", argument_from);
  message.outputs = list_from(json, "outputs", argument_from);
  message.params = list_from(json, "params", scalar_from);
  message.scalars = list_from(json, "scalars", scalar_from);
}

void to_json(Json& json, const TimeRequest& request) {
  json = {{"mode", static_cast<int32_t>(request.mode)},
          {"draws", request.draws},
          {"align", request.align},
          {"lead_in", request.lead_in}};
}

void from_json(const Json& json, TimeRequest& request) {
  request.mode =
      static_cast<TimeRequest::Mode>(integer_field(json, "mode", 0, static_cast<int32_t>(TimeRequest::Mode::replay)));
  request.draws = draws_field(json, "draws");
  request.align = boolean_field(json, "align");
  request.lead_in = draws_field(json, "lead_in");
}

void to_json(Json& json, const TimeReply& reply) {
  json = {{"event_us", reply.event_us},
          {"wall_us", reply.wall_us},
          {"tail_us", reply.tail_us},
          {"call_us", reply.call_us},
          {"threads_before", reply.threads_before},
          {"threads_after", reply.threads_after},
          {"not_captured", reply.not_captured}};
}

void from_json(const Json& json, TimeReply& reply) {
  reply.event_us = number_field(json, "event_us");
  reply.wall_us = number_field(json, "wall_us");
  reply.tail_us = number_field(json, "tail_us");
  reply.call_us = numbers_field(json, "call_us", kLongestList);
  const bool negative = reply.event_us < 0 || reply.wall_us < 0 || reply.tail_us < 0 ||
                        std::ranges::any_of(reply.call_us, [](double time) { return time < 0; });
  if (negative) refuse("a time is negative");
  reply.threads_before = static_cast<int>(integer_field(json, "threads_before", 0, kMostThreads));
  reply.threads_after = static_cast<int>(integer_field(json, "threads_after", 0, kMostThreads));
  reply.not_captured = string_field(json, "not_captured");
}

void check_reply(Type request, const Json& request_body, const Json& reply) {
  if (!boolean_field(reply, "ok")) {
    static const std::set<std::string, std::less<>> kinds{"load_error", "setup_error", "runtime_error",
                                                          "mismatch",   "cheated",     "harness_error"};
    if (!kinds.contains(string_field(reply, "kind"))) refuse("'kind' is no failure word");
    if (string_field(reply, "reason").size() > kLongestReason) refuse("'reason' is too long");
    return;
  }
  if (request == Type::allocate) {
    const MemoryHandle handle = handle_from_json(field(reply, "handle"));
    const int64_t bytes = integer_field(request_body, "bytes", 0, kAnyInteger);
    if (handle.bytes - handle.offset < static_cast<uint64_t>(bytes)) refuse("'handle' is smaller than was asked for");
  }
  if (request == Type::setup && number_field(reply, "setup_us") < 0) refuse("'setup_us' is negative");
  if (request == Type::time) check_time_reply(request_body, reply);
}

}  // namespace pkb::protocol
