// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "core/error.h"
#include "pkb/candidate.h"
#include "worker/protocol.h"

namespace pkb::protocol {
namespace {

/// Through the bytes that cross the socket.
Json over_the_wire(const Json& json) {
  return Json::from_msgpack(Json::to_msgpack(json));
}

template <class Function>
std::string refusal_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

ArgumentsMessage sample() {
  ArgumentsMessage message;
  message.inputs.push_back({"A",
                            false,
                            {{.dtype = PKB_BF16,
                              .shape = {4, 8},
                              .stride = {8, 1},
                              .host = false,
                              .capacity = 64,
                              .offset = 256,
                              .rows_offset = -1}}});
  message.inputs.push_back({"parts", true, {}});
  message.inputs.push_back(
      {"sizes", true, {{.dtype = PKB_I64, .host = true, .capacity = 1, .offset = -1}, {.dtype = PKB_U8}}});
  message.outputs.push_back(
      {"C", false, {{.dtype = PKB_COMPLEX64, .shape = {0, 2}, .stride = {2, 1}, .rows_offset = 512}}});
  message.params.push_back({.name = "M", .kind = PKB_SCALAR_INTEGER, .integer = -5, .real = -5});
  message.scalars.push_back(
      {.name = "limit", .kind = PKB_SCALAR_FLOAT, .real = std::numeric_limits<double>::infinity()});
  message.scalars.push_back(
      {.name = "splits", .kind = PKB_SCALAR_LIST, .list = {1, std::numeric_limits<int64_t>::min()}, .shape = {1, 2}});
  message.scalars.push_back({.name = "axis", .kind = PKB_SCALAR_GROUP, .text = "tp"});
  return message;
}

TEST(Arguments, SurviveTheWire) {
  const Json sent = sample();
  const Json received = over_the_wire(sent);
  EXPECT_EQ(Json(received.get<ArgumentsMessage>()), sent);
  const auto message = received.get<ArgumentsMessage>();
  ASSERT_EQ(message.inputs.size(), 3U);
  EXPECT_EQ(message.inputs[0].tensors[0].shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(message.inputs[0].tensors[0].offset, 256);
  EXPECT_TRUE(message.inputs[2].tensors[0].host);
  EXPECT_EQ(message.outputs[0].tensors[0].rows_offset, 512);
  EXPECT_TRUE(std::isinf(message.scalars[0].real));
  EXPECT_EQ(message.scalars[1].list[1], std::numeric_limits<int64_t>::min());
}

/// Every field of every message, replaced by values of other types, must be refused with its name.
void expect_each_field_is_checked(const Json& good, const std::function<void(const Json&)>& read) {
  const std::vector<Json> others{nullptr, true, 7, -7, 2.5, "text", Json::array(), Json::object(), Json::binary({1})};
  ASSERT_EQ(refusal_of([&] { read(good); }), "accepted");
  for (const auto& [name, value] : good.items()) {
    Json missing = good;
    missing.erase(name);
    EXPECT_NE(refusal_of([&] { read(missing); }).find("'" + name + "'"), std::string::npos) << name;
    for (const Json& other : others) {
      const bool same_kind = other.type() == value.type() || (other.is_number() && value.is_number()) ||
                             (other.is_number_integer() && value.is_number_integer());
      if (same_kind) continue;
      Json changed = good;
      changed[name] = other;
      EXPECT_EQ(refusal_of([&] { read(changed); }).find("malformed message: "), 0U) << name << " = " << other;
    }
  }
}

TEST(Arguments, EveryFieldIsChecked) {
  const Json good = sample();
  expect_each_field_is_checked(good, [](const Json& json) { json.get<ArgumentsMessage>(); });
  expect_each_field_is_checked(good["inputs"][0], [&](const Json& json) {
    Json message = good;
    message["inputs"][0] = json;
    message.get<ArgumentsMessage>();
  });
  expect_each_field_is_checked(good["inputs"][0]["tensors"][0], [&](const Json& json) {
    Json message = good;
    message["inputs"][0]["tensors"][0] = json;
    message.get<ArgumentsMessage>();
  });
  expect_each_field_is_checked(good["scalars"][1], [&](const Json& json) {
    Json message = good;
    message["scalars"][1] = json;
    message.get<ArgumentsMessage>();
  });
}

TEST(Arguments, RangesAreChecked) {
  const auto with = [](const char* field, const Json& value) {
    Json json = sample();
    json["inputs"][0]["tensors"][0][field] = value;
    return refusal_of([&] { json.get<ArgumentsMessage>(); });
  };
  EXPECT_EQ(with("dtype", 0), "malformed message: 'dtype' is out of range");
  EXPECT_EQ(with("dtype", 11), "malformed message: 'dtype' is out of range");
  EXPECT_EQ(with("offset", -2), "malformed message: 'offset' is out of range");
  EXPECT_EQ(with("capacity", std::numeric_limits<uint64_t>::max()), "malformed message: 'capacity' is out of range");
  EXPECT_EQ(with("shape", {4}), "malformed message: 'stride' and 'shape' differ in length");
  EXPECT_EQ(with("shape", {4, -8}), "malformed message: 'shape' is negative");
  EXPECT_EQ(with("shape", std::vector<int>(9, 1)), "malformed message: 'shape' has too many entries");
  Json two = sample();
  two["inputs"][0]["tensors"].push_back(two["inputs"][0]["tensors"][0]);
  EXPECT_EQ(refusal_of([&] { two.get<ArgumentsMessage>(); }), "malformed message: 'A' is not one tensor");
}

MemoryHandle sample_handle() {
  MemoryHandle handle{.kind = MemoryHandle::Kind::posix_shm, .bytes = 4096, .offset = 256, .payload = {}};
  for (std::size_t i = 0; i < handle.payload.size(); ++i) handle.payload[i] = static_cast<char>(i * 2);
  return handle;
}

TEST(Handle, SurvivesTheWire) {
  const MemoryHandle handle = sample_handle();
  const MemoryHandle received = handle_from_json(over_the_wire(to_json(handle)));
  EXPECT_EQ(received.kind, handle.kind);
  EXPECT_EQ(received.bytes, handle.bytes);
  EXPECT_EQ(received.offset, handle.offset);
  EXPECT_EQ(received.payload, handle.payload);
}

TEST(Handle, EveryFieldIsChecked) {
  expect_each_field_is_checked(to_json(sample_handle()), [](const Json& json) { handle_from_json(json); });
  Json json = to_json(sample_handle());
  json["payload"] = Json::binary({1, 2, 3});
  EXPECT_EQ(refusal_of([&] { handle_from_json(json); }), "malformed message: 'payload' has another length");
  json = to_json(sample_handle());
  json["offset"] = 4097;
  EXPECT_EQ(refusal_of([&] { handle_from_json(json); }), "malformed message: 'offset' lies outside the allocation");
  json["offset"] = 0;
  json["kind"] = 5;
  EXPECT_EQ(refusal_of([&] { handle_from_json(json); }), "malformed message: 'kind' is out of range");
}

TEST(Time, SurvivesTheWire) {
  const TimeRequest request{TimeRequest::Mode::isolated, {3, 1, 2}, false};
  const auto got = over_the_wire(Json(request)).get<TimeRequest>();
  EXPECT_EQ(got.mode, request.mode);
  EXPECT_EQ(got.draws, request.draws);
  EXPECT_EQ(got.align, request.align);
  const TimeReply reply{.event_us = 10.25,
                        .wall_us = 11,
                        .tail_us = 0.5,
                        .call_us = {3, 4, 3.25},
                        .threads_before = 2,
                        .threads_after = 3,
                        .not_captured = "no graphs"};
  const auto times = over_the_wire(Json(reply)).get<TimeReply>();
  EXPECT_EQ(times.event_us, 10.25);
  EXPECT_EQ(times.tail_us, 0.5);
  EXPECT_EQ(times.call_us, reply.call_us);
  EXPECT_EQ(times.threads_after, 3);
  EXPECT_EQ(times.not_captured, "no graphs");
}

TEST(Time, EveryFieldIsChecked) {
  expect_each_field_is_checked(Json(TimeRequest{}), [](const Json& json) { json.get<TimeRequest>(); });
  expect_each_field_is_checked(Json(TimeReply{}), [](const Json& json) { json.get<TimeReply>(); });
}

TEST(Time, TimesAreFiniteAndNotNegative) {
  Json json = TimeReply{};
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    json["event_us"] = bad;
    EXPECT_NE(refusal_of([&] { json.get<TimeReply>(); }), "accepted") << bad;
  }
  json = TimeReply{.call_us = {1, -1}};
  EXPECT_EQ(refusal_of([&] { json.get<TimeReply>(); }), "malformed message: a time is negative");
}

TEST(Reply, ChecksFailures) {
  const auto refusal = [](const Json& reply) {
    return refusal_of([&] { check_reply(Type::run, Json::object(), reply); });
  };
  EXPECT_EQ(refusal({{"ok", false}, {"kind", "runtime_error"}, {"reason", "x"}}), "accepted");
  EXPECT_EQ(refusal({{"ok", false}, {"kind", "passed"}, {"reason", "x"}}),
            "malformed message: 'kind' is no failure word");
  EXPECT_EQ(refusal({{"ok", false}, {"kind", "runtime_error"}}), "malformed message: 'reason' is missing");
  EXPECT_EQ(refusal({{"ok", 1}}), "malformed message: 'ok' is number, not a boolean");
  EXPECT_EQ(refusal(Json::object()), "malformed message: 'ok' is missing");
}

TEST(Reply, ChecksWhatEachRequestPromises) {
  const Json ok{{"ok", true}};
  EXPECT_EQ(refusal_of([&] { check_reply(Type::load, Json::object(), ok); }), "accepted");
  EXPECT_EQ(refusal_of([&] { check_reply(Type::setup, Json::object(), ok); }),
            "malformed message: 'setup_us' is missing");
  EXPECT_EQ(refusal_of([&] {
              check_reply(Type::allocate, {{"bytes", 16}}, ok);
            }),
            "malformed message: 'handle' is missing");

  Json small{{"ok", true}, {"handle", to_json(sample_handle())}};
  EXPECT_EQ(refusal_of([&] { check_reply(Type::allocate, {{"bytes", 3840}}, small); }), "accepted");
  EXPECT_EQ(refusal_of([&] {
              check_reply(Type::allocate, {{"bytes", 3841}}, small);
            }),
            "malformed message: 'handle' is smaller than was asked for");

  Json times = TimeReply{.call_us = {1, 2}};
  times["ok"] = true;
  const Json each = TimeRequest{TimeRequest::Mode::each, {0, 0}, true};
  EXPECT_EQ(refusal_of([&] { check_reply(Type::time, each, times); }), "accepted");
  const Json three = TimeRequest{TimeRequest::Mode::each, {0, 0, 0}, true};
  EXPECT_EQ(refusal_of([&] { check_reply(Type::time, three, times); }),
            "malformed message: 'call_us' has another length than was asked");
  const Json burst = TimeRequest{TimeRequest::Mode::burst, {0, 0}, true};
  EXPECT_NE(refusal_of([&] { check_reply(Type::time, burst, times); }), "accepted");
}

}  // namespace
}  // namespace pkb::protocol
