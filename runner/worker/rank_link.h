// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worker/protocol.h"

namespace pkb {

/// The ranks of a group as this worker knows them.
struct Group {
  std::string name;
  std::vector<int> members;  ///< world ranks in group order
  int index = 0;             ///< of this rank in members
  std::size_t size() const { return members.size(); }
};

/// The worker's end of its conversation with its rank. When the rank is gone the process ends on the spot: nobody would
/// hear why.
class RankLink {
 public:
  explicit RankLink(protocol::Channel channel) : channel_(std::move(channel)) {}

  protocol::Frame request();  ///< waits for the next one
  void reply(const protocol::Json& body);

  /// Contributes `text` and returns what all members contributed, in group order. `what` says for people what is being
  /// exchanged and must be the same on all members. Returns at once in a group of one.
  std::vector<std::string> exchange(std::string_view what, const Group& group, std::string_view text);
  void meet(std::string_view what, const Group& group) { exchange(what, group, ""); }

 private:
  protocol::Frame receive();
  void send(protocol::Type type, const protocol::Json& body);
  protocol::Channel channel_;
};

}  // namespace pkb
