// SPDX-License-Identifier: Apache-2.0
#include "team/worker_session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "team/polling.h"
#include "team/round.h"
#include "team/text.h"
#include "worker/fields.h"

namespace pkb {
namespace {

using protocol::Json;
using protocol::ReadResult;
using protocol::ReadStatus;
using protocol::Type;
using Seconds = std::chrono::duration<double>;

constexpr auto kSlice = std::chrono::milliseconds(5);    // between looks at the worker's life, the deadline and alarms
constexpr auto kGrace = std::chrono::milliseconds(300);  // for an own worker after another rank's failed
constexpr auto kReapTime = std::chrono::seconds(1);      // from a closed socket to the end of the process
constexpr Seconds kBeginLimit{60};                       // making a device context
constexpr std::size_t kLongestWhat = 200;
constexpr std::size_t kLongestText = 16 << 20;
constexpr std::size_t kLongestReason = 2000;

/// What a worker is in while it serves a request; completes "crashed inside" and "did not finish".
std::string_view doing(Type type) {
  switch (type) {
    case Type::begin:
      return "the start of its device";
    case Type::load:
      return "loading the candidate";
    case Type::allocate:
    case Type::opened:
      return "allocating inputs and outputs";
    case Type::setup:
      return "pkb_setup";
    case Type::bind:
      return "taking the arguments";
    case Type::run:
      return "pkb_run";
    case Type::time:
      return "the timed calls of pkb_run";
    case Type::teardown:
      return "pkb_teardown";
    default:
      return "its end";
  }
}

std::string in_seconds(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", time.count());
  return text;
}

Contribution failed(std::string status, std::string reason, bool consequence = false) {
  Contribution word;
  word.state = Contribution::State::failed;
  word.outcome = {std::move(status), std::move(reason), consequence};
  return word;
}

/// Lower comes first when a team looks for the cause of its failure.
int order_of(const RankOutcome& outcome) {
  if (outcome.ok()) return 5;
  if (outcome.consequence) return 4;
  if (outcome.status == "crashed") return 0;
  if (outcome.status == "timeout") return 2;
  if (outcome.status == "diverged") return 3;
  return 1;
}

}  // namespace

bool CallOutcome::ok() const {
  return std::ranges::all_of(ranks, &RankOutcome::ok);
}

const RankOutcome& CallOutcome::cause(int* rank) const {
  if (ranks.empty()) throw Error("a call without ranks has no cause");
  const auto first = std::ranges::min_element(ranks, {}, order_of);
  if (rank) *rank = static_cast<int>(first - ranks.begin());
  return *first;
}

/// One request on every rank: each asks its worker, and rounds carry what the workers say between the ranks until all
/// are done.
class WorkerSession::Call {
 public:
  Call(WorkerSession& session, Type type, const Json& body, Seconds deadline)
      : session_(session), type_(type), body_(body), limit_(deadline), left_(deadline) {}

  CallOutcome run() {
    Contribution word = ask(type_, body_);
    while (true) {
      if (word.state == Contribution::State::failed) give_up_worker(word);
      const std::vector<Contribution> ranks = gather(session_.team_, word);
      const Decision decision = decide(ranks, doing(type_));
      if (decision.kind == Decision::Kind::finished)
        return {std::vector<RankOutcome>(ranks.size()), reply_, worker_us_, 0};
      if (decision.kind != Decision::Kind::go_on) {
        session_.process_->kill();
        return {decision.outcomes, {}, 0, 0};
      }
      if (!decision.served[static_cast<std::size_t>(session_.team_.rank())]) continue;  // says the same again
      word = ask(Type::exchanged, {{"status", "ok"}, {"texts", texts_for(word, ranks)}});
    }
  }

 private:
  void give_up_worker(const Contribution& word) {
    if (!word.outcome.consequence) session_.team_.raise_alarm(session_.evaluation_);
    session_.process_->kill();
  }

  /// Sends the worker a message and waits for its next word.
  Contribution ask(Type type, const Json& body) {
    if (const auto unasked = channel().poll()) return unasked_for(*unasked);
    asked_at_ = Clock::now();
    const Clock::time_point deadline = asked_at_ + std::chrono::duration_cast<Clock::duration>(left_);
    Contribution word = channel().send(type, body, deadline) ? next_word(deadline) : not_taken();
    left_ -= Clock::now() - asked_at_;
    return word;
  }

  Contribution next_word(Clock::time_point deadline) {
    std::optional<Clock::time_point> grace;
    while (true) {
      const ReadResult read = channel().receive(Clock::now() + kSlice);
      if (read.status != ReadStatus::timeout) return understood(read);
      if (const auto how = session_.process_->how_it_ended()) {
        const auto last = channel().poll();
        return last ? understood(*last) : ended(*how);
      }
      const Clock::time_point now = Clock::now();
      if (now >= deadline)
        return failed("timeout", "did not finish " + std::string(doing(type_)) + " within " + in_seconds(limit_));
      if (!grace && session_.team_.alarm(session_.evaluation_)) grace = now + kGrace;
      if (grace && now >= *grace) {
        return failed("diverged", "stopped inside " + std::string(doing(type_)) + ": another rank failed", true);
      }
    }
  }

  Contribution understood(const ReadResult& read) {
    if (read.status == ReadStatus::closed) return ended(how_it_ended_soon());
    if (read.status == ReadStatus::malformed) return failed("crashed", "malformed message: " + read.reason);
    try {
      if (read.frame.type == Type::exchange) return request_in(read.frame.body);
      if (read.frame.type == Type::reply) return reply_in(read.frame.body);
      return failed("crashed", "malformed message: a worker does not send requests");
    } catch (const std::exception& error) {
      return failed("crashed", clean_text(error.what(), kLongestReason));
    }
  }

  Contribution request_in(const Json& body) const {
    Contribution word;
    word.state = Contribution::State::request;
    word.what = clean_text(protocol::string_field(body, "what"), kLongestWhat);
    word.group = protocol::string_field(body, "group");
    word.text = protocol::string_field(body, "text");
    if (word.text.size() > kLongestText) protocol::refuse("'text' is too long");
    const auto group = std::ranges::find(session_.instance_.groups, word.group, &GroupInstance::name);
    if (group == session_.instance_.groups.end()) protocol::refuse("an exchange with a group that this rank is not in");
    word.members = group->members;
    return word;
  }

  Contribution reply_in(const Json& body) {
    protocol::check_reply(type_, body_, body);
    if (!protocol::boolean_field(body, "ok")) {
      return failed(protocol::string_field(body, "kind"),
                    clean_text(protocol::string_field(body, "reason"), kLongestReason));
    }
    reply_ = body;
    worker_us_ = std::chrono::duration<double, std::micro>(Clock::now() - asked_at_).count();
    return {};
  }

  Contribution unasked_for(const ReadResult& read) {
    if (read.status == ReadStatus::frame)
      return failed("crashed", "malformed message: the worker spoke without being asked");
    return understood(read);
  }

  Contribution not_taken() {
    if (Clock::now() - asked_at_ >= left_) {
      return failed("timeout",
                    "did not take a request (" + std::string(doing(type_)) + ") within " + in_seconds(limit_));
    }
    return ended(how_it_ended_soon());
  }

  Contribution ended(const std::string& how) const {
    return failed("crashed", how + " inside " + std::string(doing(type_)));
  }

  std::string how_it_ended_soon() {
    const Clock::time_point limit = Clock::now() + kReapTime;
    for (Backoff backoff; Clock::now() < limit; backoff.pause()) {
      if (auto how = session_.process_->how_it_ended()) return *how;
    }
    return "closed its connection";
  }

  protocol::Channel& channel() { return session_.process_->channel(); }

  WorkerSession& session_;
  Type type_;
  const Json& body_;
  Seconds limit_, left_;
  Clock::time_point asked_at_;
  Json reply_;
  double worker_us_ = 0;
};

WorkerSession::WorkerSession(Team& team, std::unique_ptr<WorkerProcess> process, const WorkerOptions& options,
                             const Instance& instance, uint64_t evaluation)
    : team_(team), process_(std::move(process)), options_(options), instance_(instance), evaluation_(evaluation) {
  const bool fits = instance.world == team.size() && instance.rank == team.rank() && !instance.groups.empty();
  if (!fits) throw Error("the instance was made for another rank or world than this team's");
  for (const GroupInstance& group : instance.groups) {
    const bool inside = std::ranges::all_of(group.members, [&](int rank) { return rank >= 0 && rank < team.size(); });
    if (!inside) throw Error("group " + group.name + " has members outside the team");
  }
}

WorkerSession::~WorkerSession() = default;

CallOutcome WorkerSession::call(Type type, const Json& body, Seconds deadline) {
  if (failure_) return *failure_;
  if (!begun_) {
    begun_ = true;
    const CallOutcome began = perform(Type::begin, begin_body(), kBeginLimit);
    if (!began.ok() || type == Type::begin) return began;
  }
  return perform(type, body, deadline);
}

CallOutcome WorkerSession::perform(Type type, const Json& body, Seconds deadline) {
  const int threads = process_->threads();
  process_->go_on();
  CallOutcome outcome = Call(*this, type, body, deadline).run();
  if (!outcome.ok()) {
    failure_ = outcome;
    return outcome;
  }
  if (type == Type::run || type == Type::time) process_->stop();
  outcome.new_threads = process_->threads() - threads;
  return outcome;
}

Json WorkerSession::begin_body() const {
  Json groups = Json::array();
  for (const GroupInstance& group : instance_.groups) {
    groups.push_back({{"name", group.name}, {"members", group.members}, {"index", group.index}});
  }
  return {{"device", static_cast<int32_t>(options_.device)},
          {"ordinal", options_.ordinal},
          {"rank", instance_.rank},
          {"world", instance_.world},
          {"groups", std::move(groups)},
          {"multicast", options_.multicast},
          {"ranks_per_gpu", options_.ranks_per_gpu},
          {"prefix", options_.name_prefix}};
}

std::string WorkerSession::log_tail(std::size_t bytes) const {
  // The candidate could have put a link or a pipe in the file's place.
  const int log = ::open(options_.log.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (log < 0) return {};
  struct stat status {};
  std::string tail;
  if (::fstat(log, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    tail.resize(std::min(bytes, size));
    const ssize_t count = ::pread(log, tail.data(), tail.size(), static_cast<off_t>(size - tail.size()));
    tail.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  }
  ::close(log);
  return clean_text(tail, bytes, true);
}

}  // namespace pkb
