// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a team decide together when their workers have something to say. Every rank contributes its
// worker's word, all see all contributions, and all come to the same decision by themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "team/team.h"
#include "team/worker_session.h"

namespace pkb {

/// One rank's word in a round.
struct Contribution {
  enum class State { request, done, failed };
  State state = State::done;
  // request: what the worker asks of a group. `what` must be equal on all members: it names sizes where they must
  // agree.
  std::string what, group, text;
  std::vector<int> members;  ///< world ranks in group order
  RankOutcome outcome;       ///< failed
};

struct Decision {
  enum class Kind {
    go_on,     ///< some requests are answered, see `served`
    finished,  ///< all are done
    failed,    ///< some rank failed
    diverged,  ///< what the ranks ask for can never be answered
  };
  Kind kind = Kind::finished;
  std::vector<bool> served;           ///< [ranks] its request is answered now
  std::vector<RankOutcome> outcomes;  ///< [ranks] failed, diverged
};

/// `call` names what the workers are in, such as "pkb_setup".
Decision decide(const std::vector<Contribution>& ranks, std::string_view call);

/// The texts of the members of this request's group, in group order.
std::vector<std::string> texts_for(const Contribution& request, const std::vector<Contribution>& ranks);

/// Collective over the team: everyone's contribution, by rank.
std::vector<Contribution> gather(Team& team, const Contribution& mine);

}  // namespace pkb
