// SPDX-License-Identifier: Apache-2.0
#include "worker/rank_link.h"

#include <unistd.h>

#include "core/error.h"
#include "worker/fields.h"

namespace pkb {
namespace {

using protocol::Json;
using protocol::Type;

constexpr auto kNever = protocol::Clock::time_point::max();
constexpr std::size_t kMostRanks = 1 << 20;

}  // namespace

protocol::Frame RankLink::receive() {
  protocol::ReadResult read = channel_.receive(kNever);
  if (read.status == protocol::ReadStatus::malformed) throw Error("the rank sent a malformed message: " + read.reason);
  if (read.status != protocol::ReadStatus::frame) ::_exit(kExitHarness);
  return std::move(read.frame);
}

void RankLink::send(Type type, const Json& body) {
  if (!channel_.send(type, body, kNever)) ::_exit(kExitHarness);
}

protocol::Frame RankLink::request() {
  return receive();
}
void RankLink::reply(const Json& body) {
  send(Type::reply, body);
}

std::vector<std::string> RankLink::exchange(std::string_view what, const Group& group, std::string_view text) {
  if (group.size() == 1) return {std::string(text)};
  send(Type::exchange, {{"what", what}, {"group", group.name}, {"text", text}});
  const protocol::Frame answer = receive();
  const bool good = answer.type == Type::exchanged && protocol::string_field(answer.body, "status") == "ok";
  if (!good) throw Error("the rank did not answer an exchange");
  std::vector<std::string> texts;
  for (const Json& each : protocol::array_field(answer.body, "texts", kMostRanks)) {
    texts.push_back(each.get<std::string>());
  }
  if (texts.size() != group.size()) throw Error("an exchange was answered with too few texts");
  return texts;
}

}  // namespace pkb
