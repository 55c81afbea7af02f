// SPDX-License-Identifier: Apache-2.0
#include "team/round.h"

#include <algorithm>
#include <utility>

namespace pkb {
namespace {

using State = Contribution::State;
using protocol::Json;

bool is_served(const Contribution& request, const std::vector<Contribution>& ranks) {
  return request.state == State::request && std::ranges::all_of(request.members, [&](int member) {
           const Contribution& other = ranks[static_cast<std::size_t>(member)];
           return other.state == State::request && other.what == request.what && other.group == request.group &&
                  other.members == request.members;
         });
}

std::string phrase(const Contribution& rank, std::string_view call) {
  if (rank.state == State::done) return "finished " + std::string(call);
  return "asked for " + rank.what + " on " + rank.group;
}

/// "ranks 0, 2, 3" from a few; "ranks 0, 1, 2 and 29 more" from many.
std::string naming(const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kNamed = 4;
  if (ranks.size() == 1) return "rank " + std::to_string(ranks[0]);
  std::string text = "ranks ";
  const std::size_t named = ranks.size() > kNamed ? kNamed - 1 : ranks.size();
  for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (named < ranks.size()) text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}

/// "rank 0 asked for symmetric_alloc of 64 bytes on world, rank 1 finished pkb_setup"
std::string describe(const std::vector<Contribution>& ranks, std::string_view call) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> by_phrase;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string said = phrase(ranks[rank], call);
    const auto found = std::ranges::find(by_phrase, said, &std::pair<std::string, std::vector<std::size_t>>::first);
    if (found == by_phrase.end()) {
      by_phrase.push_back({said, {rank}});
    } else {
      found->second.push_back(rank);
    }
  }
  std::string text;
  for (const auto& [said, who] : by_phrase) text += (text.empty() ? "" : ", ") + naming(who) + " " + said;
  return text;
}

RankOutcome outcome_beside_a_failure(const Contribution& rank) {
  if (rank.state == State::failed) return rank.outcome;
  if (rank.state == State::done) return {};
  return {"diverged", "stopped while it asked for " + rank.what + " on " + rank.group, true};
}

Json to_json(const Contribution& mine) {
  return {{"state", static_cast<int>(mine.state)},
          {"what", mine.what},
          {"group", mine.group},
          {"text", mine.text},
          {"members", mine.members},
          {"status", mine.outcome.status},
          {"reason", mine.outcome.reason},
          {"consequence", mine.outcome.consequence}};
}

Contribution from_json(const Json& json) {
  Contribution contribution;
  contribution.state = static_cast<State>(json.at("state").get<int>());
  json.at("what").get_to(contribution.what);
  json.at("group").get_to(contribution.group);
  json.at("text").get_to(contribution.text);
  json.at("members").get_to(contribution.members);
  json.at("status").get_to(contribution.outcome.status);
  json.at("reason").get_to(contribution.outcome.reason);
  json.at("consequence").get_to(contribution.outcome.consequence);
  return contribution;
}

}  // namespace

Decision decide(const std::vector<Contribution>& ranks, std::string_view call) {
  Decision decision;
  const auto is = [](State state) { return [state](const Contribution& rank) { return rank.state == state; }; };
  if (std::ranges::any_of(ranks, is(State::failed))) {
    decision.kind = Decision::Kind::failed;
    for (const Contribution& rank : ranks) decision.outcomes.push_back(outcome_beside_a_failure(rank));
    return decision;
  }
  if (std::ranges::all_of(ranks, is(State::done))) return decision;

  for (const Contribution& rank : ranks) decision.served.push_back(is_served(rank, ranks));
  if (std::ranges::find(decision.served, true) != decision.served.end()) {
    decision.kind = Decision::Kind::go_on;
    return decision;
  }
  // Every rank waits for an answer or is done, and no answer is possible: it would stay so for ever.
  decision.kind = Decision::Kind::diverged;
  decision.outcomes.assign(ranks.size(), {"diverged", describe(ranks, call), false});
  return decision;
}

std::vector<std::string> texts_for(const Contribution& request, const std::vector<Contribution>& ranks) {
  std::vector<std::string> texts;
  for (const int member : request.members) texts.push_back(ranks[static_cast<std::size_t>(member)].text);
  return texts;
}

std::vector<Contribution> gather(Team& team, const Contribution& mine) {
  std::string bytes;
  Json::to_msgpack(to_json(mine), bytes);
  std::vector<Contribution> ranks;
  for (const std::string& other : team.all_gather(bytes)) ranks.push_back(from_json(Json::from_msgpack(other)));
  return ranks;
}

}  // namespace pkb
