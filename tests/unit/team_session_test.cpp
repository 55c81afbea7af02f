// SPDX-License-Identifier: Apache-2.0
//
// WorkerSession and WorkerProcess against a worker that does what the test tells it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "core/error.h"
#include "team/team.h"
#include "team/worker_session.h"

namespace pkb {
namespace {

using protocol::Json;
using protocol::Type;
using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

namespace fs = std::filesystem;

fs::path beside_this_program(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

Json exchange(const std::string& what, const std::string& group = "world", const std::string& text = "") {
  return {{"do", "exchange"}, {"what", what}, {"group", group}, {"text", text}};
}
const Json kReply{{"do", "reply"}}, kHang{{"do", "hang"}};
Json exit_with(int status) {
  return {{"do", "exit"}, {"status", status}};
}
Json raise(int number) {
  return {{"do", "signal"}, {"number", number}};
}
Json sleep(int ms) {
  return {{"do", "sleep"}, {"ms", ms}};
}
Json reply_with(Json body) {
  return {{"do", "reply"}, {"body", std::move(body)}};
}
Json raw(const std::string& bytes) {
  return {{"do", "raw"}, {"bytes", bytes}};
}

bool is_running(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  status >> number >> name >> state;
  return status && state != "Z" && state != "X";
}

/// Three ranks (mpirun), each with a fake worker; group "pair" is ranks 1 and 0 in that order.
class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(team_.size(), 3) << "run under mpirun -np 3";
    options_.executable = beside_this_program("team_fake_worker");
    options_.log = fs::temp_directory_path() / ("pkb_team_test." + std::to_string(::getpid()) + ".log");
    fs::remove(options_.log);
    instance_.world = team_.size();
    instance_.rank = team_.rank();
    instance_.groups = {{"world", {0, 1, 2}, team_.rank()}};
    if (team_.rank() < 2) instance_.groups.push_back({"pair", {1, 0}, 1 - team_.rank()});
    start();
  }
  void TearDown() override {
    session_.reset();
    EXPECT_FALSE(is_running(pid_));
    fs::remove(options_.log);
  }

  void start() {
    session_.reset();
    auto process = std::make_unique<WorkerProcess>(options_);
    pid_ = process->pid();
    session_ = std::make_unique<WorkerSession>(team_, std::move(process), options_, instance_, ++evaluation_);
  }

  /// Each rank's worker runs the script of its rank.
  CallOutcome call(const std::vector<Json>& scripts, double seconds = 5, Type type = Type::run) {
    const Json& script = scripts[std::min(static_cast<std::size_t>(team_.rank()), scripts.size() - 1)];
    const auto start = Clock::now();
    CallOutcome outcome = session_->call(type, {{"script", script}}, Seconds(seconds));
    took_ = std::chrono::duration<double>(Clock::now() - start).count();
    return outcome;
  }

  /// One rank failed with this status and reason, which all ranks know; nobody's worker is left.
  void expect_cause(const CallOutcome& outcome, int rank, const std::string& status, const std::string& reason) {
    EXPECT_FALSE(outcome.ok());
    ASSERT_EQ(outcome.ranks.size(), 3U);
    int found = -1;
    const RankOutcome& cause = outcome.cause(&found);
    EXPECT_EQ(found, rank);
    EXPECT_EQ(cause.status, status);
    EXPECT_EQ(cause.reason, reason);
    EXPECT_FALSE(session_->alive());
    EXPECT_FALSE(is_running(pid_));
    const CallOutcome again = session_->call(Type::run, Json::object(), Seconds(1));
    EXPECT_EQ(again.cause().reason, reason) << "further calls say the same";
  }

  Team team_{MPI_COMM_WORLD};
  WorkerOptions options_;
  Instance instance_;
  uint64_t evaluation_ = 0;
  std::unique_ptr<WorkerSession> session_;
  pid_t pid_ = -1;
  double took_ = 0;
};

TEST_F(SessionTest, SendsBeginFirstAndThenTheRequest) {
  const CallOutcome begun = session_->call(Type::begin, Json::object(), Seconds(5));
  ASSERT_TRUE(begun.ok());
  const Json& begin = begun.reply.at("request");
  EXPECT_EQ(begin.at("rank"), team_.rank());
  EXPECT_EQ(begin.at("world"), 3);
  EXPECT_EQ(begin.at("groups").size(), team_.rank() < 2 ? 2U : 1U);
  EXPECT_EQ(begin.at("groups")[0], (Json{{"name", "world"}, {"members", {0, 1, 2}}, {"index", team_.rank()}}));
  const CallOutcome loaded = session_->call(Type::load, {{"path", "x.so"}}, Seconds(5));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.reply.at("request"), (Json{{"path", "x.so"}}));
  EXPECT_GT(loaded.worker_us, 0);
  EXPECT_TRUE(session_->alive());
  EXPECT_TRUE(session_->call(Type::quit, Json::object(), Seconds(5)).ok());
}

TEST_F(SessionTest, ServesExchangesInGroupOrder) {
  const std::string mine = "rank " + std::to_string(team_.rank());
  const CallOutcome outcome = call({{exchange("a", "world", mine), exchange("b", "world", mine + "!"), kReply}});
  ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
  EXPECT_EQ(outcome.reply.at("texts"), (Json{{"rank 0", "rank 1", "rank 2"}, {"rank 0!", "rank 1!", "rank 2!"}}));
}

TEST_F(SessionTest, TextsMayHoldAnyBytes) {
  const std::string text = std::string("\0\xff\xfe", 3) + std::string(200000, static_cast<char>(0x80 + team_.rank()));
  const CallOutcome outcome = call({{exchange("a", "world", text), kReply}});
  ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
  EXPECT_EQ(outcome.reply.at("texts")[0][static_cast<std::size_t>(team_.rank())], text);
}

TEST_F(SessionTest, GroupsGoAtTheirOwnPace) {
  const Json of_pair{exchange("p", "pair", std::to_string(team_.rank())), exchange("q", "pair"), exchange("r", "pair"),
                     exchange("w"), kReply};
  const CallOutcome outcome = call({of_pair, of_pair, {exchange("w"), kReply}});
  ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
  if (team_.rank() < 2) {
    EXPECT_EQ(outcome.reply.at("texts")[0], (Json{"1", "0"}));
  }
}

TEST_F(SessionTest, OneRankMayTakeItsTime) {
  const CallOutcome outcome = call({{kReply}, {sleep(700), kReply}, {sleep(100), kReply}});
  EXPECT_TRUE(outcome.ok());
  EXPECT_GE(took_, 0.69);
  if (team_.rank() == 1) {
    EXPECT_GE(outcome.worker_us, 690e3);
  }
  if (team_.rank() == 0) {
    EXPECT_LT(outcome.worker_us, 500e3) << "waiting for others is not the worker's time";
  }
}

TEST_F(SessionTest, WaitingForOthersDoesNotCountAgainstTheDeadline) {
  // Together more than the limit of a second, but no worker works that long.
  const CallOutcome outcome = call({{exchange("a"), sleep(600), exchange("b"), kReply},
                                    {sleep(600), exchange("a"), exchange("b"), kReply},
                                    {exchange("a"), exchange("b"), sleep(600), kReply}},
                                   1.0);
  EXPECT_TRUE(outcome.ok()) << outcome.cause().reason;
  EXPECT_GE(took_, 1.7);
}

TEST_F(SessionTest, ExitInsideACallIsACrash) {
  const CallOutcome outcome = call({{kHang}, {exit_with(0)}, {kReply}});
  expect_cause(outcome, 1, "crashed", "exited with status 0 inside pkb_run");
  EXPECT_TRUE(outcome.ranks[0].consequence);
  EXPECT_TRUE(outcome.ranks[2].ok());
  EXPECT_LT(took_, 2.0) << "nobody waits for the deadline";
  EXPECT_GE(took_, 0.3) << "the others' workers get a moment to finish";
}

TEST_F(SessionTest, SignalsAreNamed) {
  const Json reply = reply_with({{"setup_us", 1.0}});
  const CallOutcome outcome = call({{reply}, {reply}, {raise(SIGSEGV)}}, 5, Type::setup);
  expect_cause(outcome, 2, "crashed", "killed by signal 11 (Segmentation fault) inside pkb_setup");
}

TEST_F(SessionTest, AClosedSocketIsACrash) {
  const CallOutcome outcome = call({{{{"do", "close"}}, kHang}, {kReply}, {kReply}});
  expect_cause(outcome, 0, "crashed", "closed its connection inside pkb_run");
}

TEST_F(SessionTest, AnEndlessCallIsATimeout) {
  const CallOutcome outcome = call({{kReply}, {kHang}, {exchange("a")}}, 0.5);
  expect_cause(outcome, 1, "timeout", "did not finish pkb_run within 0.5 s");
  EXPECT_EQ(outcome.ranks[2].reason, "stopped while it asked for a on world");
  EXPECT_GE(took_, 0.5);
  EXPECT_LT(took_, 2.5);
}

TEST_F(SessionTest, AllMayTimeOut) {
  const CallOutcome outcome = call({{kHang}}, 0.4);
  int rank = -1;
  EXPECT_EQ(outcome.cause(&rank).status, "timeout");
  EXPECT_LT(took_, 2.5);
}

TEST_F(SessionTest, AnErrorEndsTheCallOnAllRanks) {
  const Json error = reply_with({{"ok", false}, {"kind", "setup_error"}, {"reason", "pkb_setup returned 7\x01"}});
  const CallOutcome outcome =
      call({{exchange("symmetric_alloc of 64 bytes")}, {kHang}, {sleep(50), error}}, 5, Type::setup);
  expect_cause(outcome, 2, "setup_error", "pkb_setup returned 7?");
  EXPECT_TRUE(outcome.ranks[0].consequence);
  EXPECT_EQ(outcome.ranks[1].reason, "stopped inside pkb_setup: another rank failed");
  EXPECT_LT(took_, 2.5);
}

TEST_F(SessionTest, ACrashIsTheCauseOfAnError) {
  const Json error = reply_with({{"ok", false}, {"kind", "runtime_error"}, {"reason", "peer gone"}});
  const CallOutcome outcome = call({{sleep(100), error}, {kReply}, {sleep(50), raise(SIGABRT)}});
  expect_cause(outcome, 2, "crashed", "killed by signal 6 (Aborted) inside pkb_run");
}

TEST_F(SessionTest, DivergingWorkersAreToldApart) {
  const Json reply = reply_with({{"setup_us", 1.0}});
  const CallOutcome outcome =
      call({{exchange("symmetric_alloc of 4096 bytes"), reply}, {reply}, {reply}}, 5, Type::setup);
  expect_cause(outcome, 0, "diverged",
               "rank 0 asked for symmetric_alloc of 4096 bytes on world, ranks 1, 2 finished pkb_setup");
  EXPECT_LT(took_, 2.0);
}

TEST_F(SessionTest, DifferentSizesDiverge) {
  const auto script = [](const char* bytes) {
    return Json{exchange("symmetric_alloc of " + std::string(bytes) + " bytes"), kReply};
  };
  const CallOutcome outcome = call({script("64"), script("64"), script("128")}, 5, Type::setup);
  expect_cause(outcome, 0, "diverged",
               "ranks 0, 1 asked for symmetric_alloc of 64 bytes on world, "
               "rank 2 asked for symmetric_alloc of 128 bytes on world");
}

TEST_F(SessionTest, MalformedFramesAreCrashes) {
  expect_cause(call({{kReply}, {raw("no frame at all, but long enough"), kHang}, {kReply}}), 1, "crashed",
               "malformed message: the frame has no magic number");
  start();
  const uint64_t huge = uint64_t{1} << 40;
  std::string header(16, '\0');
  std::memcpy(header.data(), &protocol::kMagic, 4);
  header[4] = 32;
  std::memcpy(header.data() + 8, &huge, 8);
  expect_cause(call({{kReply}, {kReply}, {raw(header), kHang}}), 2, "crashed",
               "malformed message: a body of 1099511627776 bytes");
}

TEST_F(SessionTest, MalformedRepliesAreCrashes) {
  const auto cause_of = [&](const Json& step, Type type = Type::run) {
    const CallOutcome outcome = call({{step}, {kReply}, {kReply}}, 5, type);
    EXPECT_EQ(outcome.ranks[0].status, "crashed");
    const std::string reason = outcome.ranks[0].reason;
    start();
    return reason;
  };
  EXPECT_EQ(cause_of(reply_with({{"ok", "yes"}})), "malformed message: 'ok' is string, not a boolean");
  EXPECT_EQ(cause_of(reply_with({{"ok", false}, {"kind", "passed"}, {"reason", ""}})),
            "malformed message: 'kind' is no failure word");
  EXPECT_EQ(cause_of({{"do", "send"}, {"type", 7}, {"body", Json::object()}}),
            "malformed message: a worker does not send requests");
  EXPECT_EQ(cause_of({{"do", "send"}, {"type", 33}, {"body", {{"what", "a"}, {"group", "nobody"}, {"text", ""}}}}),
            "malformed message: an exchange with a group that this rank is not in");
  EXPECT_EQ(cause_of({{"do", "send"}, {"type", 33}, {"body", {{"what", 1}, {"group", "world"}, {"text", ""}}}}),
            "malformed message: 'what' is number, not a string");
}

TEST_F(SessionTest, TimesAreChecked) {
  Json request = protocol::TimeRequest{protocol::TimeRequest::Mode::each, {0, 1}, true};
  Json times = protocol::TimeReply{.call_us = {1, std::nan("")}};
  request["script"] = Json{reply_with(times)};
  const CallOutcome outcome = session_->call(Type::time, request, Seconds(5));
  expect_cause(outcome, 0, "crashed", "malformed message: 'call_us' is not finite");
}

TEST_F(SessionTest, SpeakingUnaskedIsACrash) {
  ASSERT_TRUE(call({{kReply, kReply}, {kReply}, {kReply}}).ok());
  std::this_thread::sleep_for(milliseconds(50));
  expect_cause(call({{kReply}}), 0, "crashed", "malformed message: the worker spoke without being asked");
}

TEST_F(SessionTest, DyingBetweenCallsIsSeenByTheNext) {
  ASSERT_TRUE(call({{kReply}, {kReply, exit_with(3)}, {kReply}}).ok());
  std::this_thread::sleep_for(milliseconds(100));
  expect_cause(call({{kReply}}), 1, "crashed", "exited with status 3 inside pkb_run");
}

TEST_F(SessionTest, RankStaysUsableAfterAFailure) {
  expect_cause(call({{kReply}, {raise(SIGKILL)}, {kHang}}), 1, "crashed",
               "killed by signal 9 (Killed; out of memory?) inside pkb_run");
  start();
  EXPECT_TRUE(call({{exchange("a"), kReply}}).ok()) << "late alarms of the session before mean nothing";
}

TEST_F(SessionTest, LargeRequestsAndDeafWorkers) {
  Json script = Json{kReply};
  const Json body{{"script", script}, {"padding", std::string(4 << 20, 'x')}};
  EXPECT_TRUE(session_->call(Type::bind, body, Seconds(20)).ok());
  ASSERT_TRUE(call({{kReply, sleep(3000)}, {kReply}, {kReply}}).ok());
  const CallOutcome outcome = session_->call(Type::bind, body, Seconds(0.3));
  expect_cause(outcome, 0, "timeout", "did not take a request (taking the arguments) within 0.3 s");
}

TEST_F(SessionTest, LogTailIsTheEndOfTheCandidatesOutput) {
  const Json print{{"do", "print"}, {"text", "first\nsecond of " + std::to_string(team_.rank()) + "\n\x1b[2J"}};
  ASSERT_TRUE(call({{print, kReply}}).ok());
  EXPECT_EQ(session_->log_tail(), "first\nsecond of " + std::to_string(team_.rank()) + "\n?[2J");
  EXPECT_EQ(session_->log_tail(8), std::to_string(team_.rank()).insert(0, "f ") + "\n?[2J");
  fs::remove(options_.log);
  EXPECT_EQ(session_->log_tail(), "");
  fs::create_symlink("/etc/hostname", options_.log);
  EXPECT_EQ(session_->log_tail(), "") << "a candidate must not make the rank read other files";
  fs::remove(options_.log);
  ASSERT_EQ(::mkfifo(options_.log.c_str(), 0600), 0);
  EXPECT_EQ(session_->log_tail(), "");
}

TEST_F(SessionTest, InstancesMustFitTheTeam) {
  Instance other = instance_;
  other.rank = (team_.rank() + 1) % 3;
  EXPECT_THROW(WorkerSession(team_, std::make_unique<WorkerProcess>(options_), options_, other, 99), Error);
  other = instance_;
  other.groups[0].members = {0, 1, 3};
  EXPECT_THROW(WorkerSession(team_, std::make_unique<WorkerProcess>(options_), options_, other, 99), Error);
}

/// One worker, spoken to directly.
class ProcessTest : public SessionTest {
 protected:
  Json ask(WorkerProcess& process, const Json& script) {
    EXPECT_TRUE(process.channel().send(Type::run, {{"script", Json{script}}}, Clock::now() + milliseconds(2000)));
    return process.channel().receive(Clock::now() + milliseconds(5000)).frame.body;
  }
};

TEST_F(ProcessTest, StartsWithNothingOfTheRanks) {
  const int leaked = ::dup(0);  // a descriptor that is not closed on exec
  ::setenv("PKB_SEED", "4242", 1);
  ::setenv("SOME_TOKEN", "abc", 1);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  WorkerProcess process(options_);
  std::signal(SIGPIPE, old_handler);
  ::sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  ::unsetenv("SOME_TOKEN");
  ::unsetenv("PKB_SEED");
  ::close(leaked);

  const Json found = ask(process, {{"do", "surroundings"}});
  EXPECT_EQ(found.at("descriptors"), (Json{0, 1, 2, 3}));
  EXPECT_TRUE(found.at("leads_group").get<bool>());
  EXPECT_FALSE(found.at("blocks_usr1").get<bool>());
  EXPECT_FALSE(found.at("ignores_pipe").get<bool>());
  std::set<std::string> names;
  for (const Json& entry : found.at("environment"))
    names.insert(entry.get<std::string>().substr(0, entry.get<std::string>().find('=')));
  EXPECT_TRUE(names.contains("CUDA_MODULE_LOADING"));
  EXPECT_TRUE(names.contains("PATH"));
  for (const std::string& name : names) {
    EXPECT_FALSE(name.starts_with("OMPI_") || name.starts_with("PMIX_") || name == "PKB_SEED" || name == "SOME_TOKEN")
        << name;
  }
}

TEST_F(ProcessTest, KillEndsTheWholeGroup) {
  auto process = std::make_unique<WorkerProcess>(options_);
  const pid_t child = ask(*process, {{"do", "fork"}}).at("child").get<pid_t>();
  EXPECT_TRUE(is_running(child));
  EXPECT_FALSE(process->how_it_ended().has_value());
  process->kill();
  EXPECT_EQ(process->how_it_ended(), "killed by signal 9 (Killed; out of memory?)");
  for (int i = 0; i < 100 && is_running(child); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_FALSE(is_running(child));
}

TEST_F(ProcessTest, ChildrenOfAWorkerThatEndedByItselfAreKilled) {
  WorkerProcess process(options_);
  const pid_t child = ask(process, {{"do", "fork"}}).at("child").get<pid_t>();
  EXPECT_TRUE(process.channel().send(Type::run, {{"script", Json{exit_with(5)}}}, Clock::now() + milliseconds(2000)));
  for (int i = 0; i < 200 && !process.how_it_ended(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(process.how_it_ended(), "exited with status 5");
  for (int i = 0; i < 100 && is_running(child); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_FALSE(is_running(child));
}

TEST_F(ProcessTest, ErrorsNameTheFile) {
  WorkerOptions options = options_;
  options.executable = "/nowhere/pkb_worker";
  try {
    WorkerProcess process(options);
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "cannot start the worker /nowhere/pkb_worker: No such file or directory");
  }
  options = options_;
  options.log = "/nowhere/log";
  EXPECT_THROW(WorkerProcess{options}, SystemError);
}

}  // namespace
}  // namespace pkb
