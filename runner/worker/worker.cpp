// SPDX-License-Identifier: Apache-2.0
#include "worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>

#include "core/error.h"
#include "worker/failure.h"
#include "worker/fields.h"

namespace pkb {
namespace {

using protocol::Frame;
using protocol::Json;
using protocol::Type;

constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kAnyInteger = std::numeric_limits<int64_t>::max();
constexpr std::size_t kMostDraws = 1 << 20;

/// The failure word for an error that does not bring its own.
const char* kind_of_errors_in(Type type) {
  switch (type) {
    case Type::load:
      return "load_error";
    case Type::setup:
      return "setup_error";
    case Type::run:
    case Type::time:
    case Type::teardown:
      return "runtime_error";
    default:
      return "harness_error";
  }
}

Json refusal(const std::string& kind, const std::string& reason) {
  std::fprintf(stderr, "pkb_worker: %s: %s\n", kind.c_str(), reason.c_str());
  return {{"ok", false}, {"kind", kind}, {"reason", reason}};
}

std::vector<Group> groups_from(const Json& body) {
  std::vector<Group> groups;
  for (const Json& entry : protocol::array_field(body, "groups", kMostRanks)) {
    Group& group = groups.emplace_back();
    group.name = protocol::string_field(entry, "name");
    for (const int64_t member : protocol::integers_field(entry, "members", kMostRanks)) {
      group.members.push_back(static_cast<int>(member));
    }
    if (group.members.empty()) protocol::refuse("a group is empty");
    group.index = static_cast<int>(protocol::integer_field(entry, "index", 0, static_cast<int64_t>(group.size()) - 1));
  }
  if (groups.empty()) protocol::refuse("there is no group");
  return groups;
}

}  // namespace

void Worker::serve() {
  while (true) {
    const Frame request = link_.request();
    if (request.type == Type::quit) {
      link_.reply({{"ok", true}});
      std::fflush(nullptr);
      ::_exit(0);
    }
    Json reply;
    try {
      reply = handle(request);
      reply["ok"] = true;
    } catch (const Failure& failure) {
      reply = refusal(failure.kind(), failure.what());
    } catch (const std::exception& error) {
      reply = refusal(kind_of_errors_in(request.type), error.what());
    }
    link_.reply(reply);
  }
}

Json Worker::handle(const Frame& request) {
  switch (request.type) {
    case Type::begin:
      return begin(request.body);
    case Type::load:
      return load(request.body);
    case Type::allocate:
      return allocate(request.body);
    case Type::opened:
      return opened();
    case Type::setup:
      return setup(request.body);
    case Type::bind:
      return bind(request.body);
    case Type::run:
      return run(request.body);
    case Type::time:
      return time(request.body);
    case Type::teardown:
      return teardown();
    default:
      protocol::refuse("this is no request");
  }
}

Json Worker::begin(const Json& body) {
  if (device_) throw Error("begin came twice");
  placement_.rank = static_cast<int>(protocol::integer_field(body, "rank", 0, kMostRanks));
  placement_.world = static_cast<int>(protocol::integer_field(body, "world", 1, kMostRanks));
  placement_.groups = groups_from(body);
  placement_.multicast = protocol::boolean_field(body, "multicast");
  placement_.ranks_per_gpu = static_cast<int>(protocol::integer_field(body, "ranks_per_gpu", 1, kMostRanks));
  const auto kind = static_cast<DeviceKind>(protocol::integer_field(body, "device", 0, 1));
  const auto ordinal = static_cast<int>(protocol::integer_field(body, "ordinal", 0, kMostRanks));
  device_ = make_device(kind, ordinal, protocol::string_field(body, "prefix"));
  stream_ = device_->create_stream();
  memory_.emplace(*device_, link_);
  services_.emplace(*device_, link_, *memory_, placement_, stream_);
  aligner_.emplace(*device_, link_, *memory_, world());
  return Json::object();
}

Json Worker::load(const Json& body) {
  if (candidate_) throw Error("a worker loads one candidate");
  candidate_.emplace(protocol::string_field(body, "path"));
  timed_calls_.emplace(device(), stream_, *candidate_, *aligner_);
  return Json::object();
}

Json Worker::allocate(const Json& body) {
  if (slab_block_ != nullptr) throw Error("the slab is allocated already; tear down first");
  const int64_t bytes = protocol::integer_field(body, "bytes", 0, kAnyInteger);
  const bool symmetric = protocol::boolean_field(body, "symmetric");
  device();
  const auto room = static_cast<std::size_t>(std::max<int64_t>(bytes, 1));
  slab_block_ = symmetric ? &memory_->allocate(world(), room, "inputs and outputs") : &memory_->allocate_alone(room);
  slab_ = {static_cast<char*>(slab_block_->local), bytes, {}};
  mirrors_.emplace(*device_);
  for (void* const peer : slab_block_->peers) slab_.peers.push_back(static_cast<char*>(peer));
  return {{"handle", protocol::to_json(slab_block_->handle)}};
}

Json Worker::opened() {
  if (slab_block_ == nullptr) throw Error("there is no slab");
  memory_->all_opened(*slab_block_);
  return Json::object();
}

Json Worker::setup(const Json& body) {
  if (is_set_up_) throw Error("pkb_setup was called already; tear down first");
  setup_arguments_.emplace(protocol::field(body, "arguments").get<protocol::ArgumentsMessage>());
  device().synchronize();
  services_->set_open(true);
  const auto start = protocol::Clock::now();
  try {
    candidate().setup(services_->context(), setup_arguments_->get(), &state_);
  } catch (const Failure& failure) {
    if (services_->first_error().empty()) throw;
    throw Failure(failure.kind(), std::string(failure.what()) + " after a service failed: " + services_->first_error());
  }
  services_->set_open(false);
  settle("setup_error", "pkb_setup");
  const double setup_us = std::chrono::duration<double, std::micro>(protocol::Clock::now() - start).count();
  is_set_up_ = true;
  link_.meet("the end of pkb_setup", world());  // a peer's memory may be used once its setup is over
  return {{"setup_us", setup_us}};
}

/// After all calls: before the next ones every rank has finished them.
void Worker::require_fair_play() {
  const std::string broken = services_->broken_guard();
  if (!broken.empty()) throw Failure("mismatch", broken);
  CandidateModule::refuse_loaded_libraries();
}

Json Worker::bind(const Json& body) {
  if (slab_block_ == nullptr) throw Error("arguments without a slab");
  require_fair_play();
  std::vector<protocol::ArgumentsMessage> draws;
  for (const Json& draw : protocol::array_field(body, "draws", kMostDraws)) {
    draws.push_back(draw.get<protocol::ArgumentsMessage>());
  }
  std::vector<Json> ranks;  // [rank] -> [draw] offsets
  if (!slab_.peers.empty()) {
    Json own = Json::array();
    for (const auto& draw : draws) own.push_back(tensor_offsets(draw));
    std::string packed;
    Json::to_msgpack(own, packed);
    for (const std::string& text : link_.exchange("places of inputs and outputs", world(), packed)) {
      ranks.push_back(Json::from_msgpack(text));
    }
  }
  tables_.clear();
  for (std::size_t i = 0; i < draws.size(); ++i) {
    std::vector<Json> of_draw;
    for (const Json& rank : ranks) of_draw.push_back(rank.at(i));
    tables_.push_back(std::make_unique<ArgumentTable>(draws[i], slab_, of_draw, device().kind(), *mirrors_));
  }
  return Json::object();
}

Json Worker::run(const Json& body) {
  const std::vector<int64_t> draws = protocol::integers_field(body, "draws", kMostDraws);
  const std::vector<int64_t> delays_ns =
      body.contains("delays_ns") ? protocol::integers_field(body, "delays_ns", kMostDraws) : std::vector<int64_t>();
  if (!delays_ns.empty() && delays_ns.size() != draws.size())
    protocol::refuse("'delays_ns' and 'draws' differ in length");
  const std::set<int64_t> distinct(draws.begin(), draws.end());
  for (const int64_t draw : distinct) table(draw).fetch(stream_);
  device().synchronize(stream_);

  for (std::size_t i = 0; i < draws.size(); ++i) {
    const auto which = [&] { return " (call " + std::to_string(i + 1) + " of " + std::to_string(draws.size()) + ")"; };
    if (!delays_ns.empty() && delays_ns[i] > 0) device().spin(delays_ns[i], stream_);
    candidate().run(state_, table(draws[i]).get(), stream_.native, which);
    const std::string error = candidate().take_error();
    if (!error.empty()) throw Failure("runtime_error", "pkb_run" + which() + ": " + error);
  }
  settle("runtime_error", draws.size() == 1 ? "pkb_run" : std::to_string(draws.size()) + " calls of pkb_run");
  for (const int64_t draw : distinct) table(draw).store(stream_);
  device().synchronize(stream_);
  return Json::object();
}

Json Worker::time(const Json& body) {
  const auto request = body.get<protocol::TimeRequest>();
  std::set<int32_t> distinct(request.draws.begin(), request.draws.end());
  distinct.insert(request.lead_in.begin(), request.lead_in.end());
  for (const int32_t draw : distinct) {
    table(draw).fetch(stream_);
    table(draw).warm();
  }
  const auto calls_of = [this](const std::vector<int32_t>& draws) {
    TimedCalls::Calls calls;
    for (const int32_t draw : draws) calls.push_back(table(draw).get());
    return calls;
  };

  candidate();
  const protocol::TimeReply reply =
      timed_calls_->perform(request, state_, calls_of(request.draws), calls_of(request.lead_in));
  settle("runtime_error", "timed calls of pkb_run");
  for (const int32_t draw : distinct) table(draw).store(stream_);
  device().synchronize(stream_);
  return reply;
}

Json Worker::teardown() {
  if (is_set_up_) {
    is_set_up_ = false;
    require_fair_play();
    candidate().teardown(state_);
    settle("runtime_error", "pkb_teardown");
  }
  state_ = nullptr;
  device();
  if (timed_calls_) timed_calls_->drop_graph();
  tables_.clear();
  mirrors_.reset();
  memory_->close_imports();
  link_.meet("the end of pkb_teardown", world());  // only now has nobody mapped what is freed
  aligner_->forget_pads();
  services_->free_workspaces();
  memory_->free_all();
  slab_block_ = nullptr;
  slab_ = {};
  return Json::object();
}

Device& Worker::device() {
  if (!device_) throw Error("begin has to come first");
  return *device_;
}

const CandidateModule& Worker::candidate() const {
  if (!candidate_) throw Error("no candidate is loaded");
  return *candidate_;
}

ArgumentTable& Worker::table(int64_t draw) const {
  if (!is_set_up_) throw Error("pkb_setup has to come first");
  if (draw < 0 || draw >= static_cast<int64_t>(tables_.size()))
    throw Error("draw " + std::to_string(draw) + " is not bound");
  return *tables_[static_cast<std::size_t>(draw)];
}

void Worker::settle(const char* kind, const std::string& after) {
  std::string error = candidate().take_error();
  try {
    device().synchronize();
  } catch (const Error& failed) {
    if (error.empty()) error = failed.what();
  }
  if (error.empty()) error = candidate().take_error();
  if (error.empty()) error = device().take_error();
  if (!error.empty()) throw Failure(kind, after + ": " + error);
}

}  // namespace pkb
