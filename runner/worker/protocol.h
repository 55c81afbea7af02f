// SPDX-License-Identifier: Apache-2.0
//
// What a rank and its worker say to each other over a socket pair. A frame is a fixed header and a MessagePack body.
// The rank sends one request at a time; until the worker has sent its reply it may send `exchange` messages, each of
// which the rank answers. The worker is hostile: the rank checks every length and every field it reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace pkb::protocol {

using Json = nlohmann::json;

constexpr uint32_t kMagic = 0x3142'4b50;  // "PKB1"
constexpr uint64_t kMaximumBody = 64ull << 20;

enum class Type : uint32_t {
  // rank -> worker
  begin = 1,       ///< {device, ordinal, rank, world, groups, multicast, ranks_per_gpu, prefix, log_path}
  load = 2,        ///< {path}
  allocate = 3,    ///< {bytes, symmetric}      -> {handle}: the slab that holds inputs and outputs of all draws
  opened = 4,      ///< {}                      the rank has opened the slab
  setup = 5,       ///< {arguments}             -> {setup_us}; arguments without data
  bind = 6,        ///< {draws: [arguments]}    arguments of each draw, data as offsets into the slab
  run = 7,         ///< {draws: [i], delays_ns: [n]}: a burst without synchronisation, then a device synchronisation
  time = 8,        ///< see TimeRequest
  teardown = 9,    ///< {}                      candidate's teardown, imports closed, buffers freed
  quit = 10,       ///< {}
  exchanged = 11,  ///< answer to `exchange`: {status, texts: [..]}
  // worker -> rank
  reply = 32,  ///< {ok, kind, reason, ...}: kind is a failure word (load_error, setup_error, runtime_error, mismatch,
               ///< ...) when not ok
  exchange = 33,  ///< {what, group, text}: contribute `text` to the group's exchange `what`
};

struct Frame {
  Type type = Type::reply;
  Json body;
};

using Clock = std::chrono::steady_clock;

enum class ReadStatus { frame, timeout, closed, malformed };
struct ReadResult {
  ReadStatus status = ReadStatus::closed;
  Frame frame;
  std::string reason;  ///< of malformed
};

/// Framed messages over one end of a socket pair (owned). Never throws for what the other side does.
class Channel {
 public:
  explicit Channel(int descriptor);
  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;

  int descriptor() const { return descriptor_; }
  bool send(Type type, const Json& body,
            Clock::time_point deadline);           ///< false: the other side is gone or does not read
  ReadResult receive(Clock::time_point deadline);  ///< sleeps in poll(2)
  std::optional<ReadResult> poll();                ///< what has arrived, without waiting

 private:
  ReadResult take_arrived();  ///< timeout: no whole frame yet
  ReadResult parse();
  int descriptor_ = -1;
  std::string buffer_;
};

Json to_json(const MemoryHandle& handle);         // payload as binary
MemoryHandle handle_from_json(const Json& json);  // throws Error for anything malformed

/// Throws Error("malformed message: ...") unless `reply` is what a worker may answer to `request` with this body.
/// WorkerSession checks every reply, so that its callers may read the fields of a reply without care.
void check_reply(Type request, const Json& request_body, const Json& reply);

/// The arguments of one call, as they cross the socket. Offsets count from the slab's start; -1: absent.
struct TensorMessage {
  int32_t dtype = 0;
  std::vector<int64_t> shape{}, stride{};
  bool host = false;
  int64_t capacity = 0;
  int64_t offset = -1;
  int64_t rows_offset = -1;
};
struct ArgumentMessage {
  std::string name;
  bool is_list = false;
  std::vector<TensorMessage> tensors;
};
struct ScalarMessage {
  std::string name;
  int32_t kind = 0;
  int64_t integer = 0;
  double real = 0;
  std::string text{};
  std::vector<int64_t> list{}, shape{};
};
struct ArgumentsMessage {
  std::vector<ArgumentMessage> inputs, outputs;
  std::vector<ScalarMessage> params, scalars;
};
void to_json(Json& json, const ArgumentsMessage& message);
void from_json(const Json& json, ArgumentsMessage& message);

/// How long the device is kept busy before a replay, so that the graph waits for the device and not the device for it.
inline constexpr int64_t kReplayHeadStartNs = 500'000;

/// `time`. Before the loop (and its lead-in) the ranks are aligned by the device barrier, if `align`.
struct TimeRequest {
  enum class Mode : int32_t {
    burst = 0,     ///< calls back to back, one event pair around all of them
    each = 1,      ///< calls back to back with an event between calls: per-call times
    isolated = 2,  ///< each call alone: flush, align, event, call, event, synchronise
    graph = 3,     ///< the calls captured as one graph, which is kept and replayed once, not timed
    warm_up = 4,   ///< calls back to back, not timed
    replay = 5,    ///< the graph kept by `graph`, replayed once and timed (inputs may have been drawn anew in place)
  };
  Mode mode = Mode::burst;
  std::vector<int32_t> draws;  ///< the draw of each call, in order
  bool align = true;
  /// burst, each, replay: draws of calls right before the loop, not waited for and not timed. They warm what the loop
  /// uses, as the paper's warm-up does, which the drawing of inputs has made cold; their draws are not timed.
  std::vector<int32_t> lead_in{};
};
void to_json(Json& json, const TimeRequest& request);
void from_json(const Json& json, TimeRequest& request);

struct TimeReply {
  double event_us = 0;            ///< whole loop (burst, each, graph); sum of calls (isolated)
  double wall_us = 0;             ///< the worker's clock around the loop, synchronisation included
  double tail_us = 0;             ///< how long a device-wide synchronisation took after the end event was done
  std::vector<double> call_us{};  ///< each, isolated
  int threads_before = 0, threads_after = 0;
  std::string not_captured{};  ///< graph: why it could not be captured; empty: it was
};
void to_json(Json& json, const TimeReply& reply);
void from_json(const Json& json, TimeReply& reply);

}  // namespace pkb::protocol
