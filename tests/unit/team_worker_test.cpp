// SPDX-License-Identifier: Apache-2.0
//
// The real pkb_worker on the host device, driven by three ranks as an evaluation drives it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "device/device.h"
#include "pkb/candidate.h"
#include "team/team.h"
#include "team/worker_session.h"

namespace pkb {
namespace {

using protocol::Json;
using protocol::TimeReply;
using protocol::TimeRequest;
using protocol::Type;
using Seconds = std::chrono::duration<double>;
namespace fs = std::filesystem;

constexpr int kElements = 1000;
constexpr int kDraws = 3;
constexpr int64_t kInputBytes = 4096, kOutputBytes = 16384;

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(team_.size(), 3) << "run under mpirun -np 3";
    device_ = make_device(DeviceKind::host, 0, prefix());
    stream_ = device_->create_stream();
    options_.executable = fs::path(PKB_BUILD_DIR) / "bin" / "pkb_worker";
    options_.log = fs::temp_directory_path() / ("pkb_worker_test." + std::to_string(::getpid()) + ".log");
    options_.name_prefix = prefix();
    fs::remove(options_.log);
    instance_.world = team_.size();
    instance_.rank = team_.rank();
    instance_.groups = {{"world", {0, 1, 2}, team_.rank()}};
    auto process = std::make_unique<WorkerProcess>(options_);
    session_ = std::make_unique<WorkerSession>(team_, std::move(process), options_, instance_, 1);
  }
  void TearDown() override {
    close_slab();
    session_.reset();
    if (device_) device_->destroy(stream_);
    fs::remove(options_.log);
    team_.barrier();
    if (team_.is_root()) {
      sweep_shared_memory();  // as an evaluation does after a worker died
      for (const auto& file : fs::directory_iterator("/dev/shm")) {
        EXPECT_EQ(file.path().string().find(prefix()), std::string::npos) << "left behind: " << file.path();
      }
    }
  }

  /// The same on all ranks: the first rank's process.
  std::string prefix() {
    if (prefix_.empty()) prefix_ = team_.broadcast("pkb-unit-" + std::to_string(::getpid()));
    return prefix_;
  }
  static fs::path candidate(const std::string& name) { return fs::path(PKB_BUILD_DIR) / "tests" / (name + ".so"); }

  CallOutcome call(Type type, const Json& body, double seconds = 10) {
    return session_->call(type, body, Seconds(seconds));
  }

  protocol::ArgumentsMessage arguments(int draw, const std::string& behaviour, int on, bool with_data) const {
    const int64_t base = draw * (kInputBytes + kOutputBytes);
    protocol::ArgumentsMessage message;
    message.inputs.push_back({"x",
                              false,
                              {{.dtype = PKB_FP32,
                                .shape = {kElements},
                                .stride = {1},
                                .capacity = kElements,
                                .offset = with_data ? base : -1}}});
    message.outputs.push_back({"y",
                               false,
                               {{.dtype = PKB_FP32,
                                 .shape = {3 * kElements},
                                 .stride = {1},
                                 .capacity = 3 * kElements,
                                 .offset = with_data ? base + kInputBytes : -1}}});
    message.scalars.push_back({.name = "behaviour", .kind = PKB_SCALAR_STRING, .text = behaviour});
    message.scalars.push_back(
        {.name = "on", .kind = PKB_SCALAR_INTEGER, .integer = on, .real = static_cast<double>(on)});
    return message;
  }

  void load() {
    ASSERT_TRUE(call(Type::load, {{"path", candidate("team_worker_candidate")}}).ok()) << session_->log_tail();
  }

  void allocate(bool symmetric = false) {
    const CallOutcome allocated =
        call(Type::allocate, {{"bytes", kDraws * (kInputBytes + kOutputBytes)}, {"symmetric", symmetric}});
    ASSERT_TRUE(allocated.ok()) << allocated.cause().reason;
    slab_ = static_cast<char*>(device_->open(protocol::handle_from_json(allocated.reply.at("handle"))));
    ASSERT_TRUE(call(Type::opened, Json::object()).ok());
  }
  void close_slab() {
    if (slab_) device_->close(slab_);
    slab_ = nullptr;
  }

  CallOutcome setup(const std::string& behaviour, int on = -1) {
    return call(Type::setup, {{"arguments", arguments(0, behaviour, on, false)}});
  }

  /// Fresh inputs, poisoned outputs.
  CallOutcome bind(const std::string& behaviour = "good", int on = -1) {
    ++round_;
    Json draws = Json::array();
    for (int draw = 0; draw < kDraws; ++draw) {
      float* const x = input(draw);
      for (int i = 0; i < kElements; ++i) x[i] = value(draw, team_.rank(), i);
      std::memset(output(draw), 0xFF, static_cast<std::size_t>(kOutputBytes));
      draws.push_back(arguments(draw, behaviour, on, true));
    }
    return call(Type::bind, {{"draws", draws}});
  }
  void ready(bool symmetric = false) {
    load();
    allocate(symmetric);
    const CallOutcome outcome = setup("good");
    ASSERT_TRUE(outcome.ok()) << outcome.cause().reason << "\n" << session_->log_tail();
    EXPECT_GT(outcome.reply.at("setup_us").get<double>(), 0);
  }

  float* input(int draw) const { return reinterpret_cast<float*>(slab_ + draw * (kInputBytes + kOutputBytes)); }
  float* output(int draw) const {
    return reinterpret_cast<float*>(slab_ + draw * (kInputBytes + kOutputBytes) + kInputBytes);
  }
  float value(int draw, int rank, int i) const {
    return static_cast<float>(round_ * 1000003 + draw * 100003 + rank * 10007 + i);
  }
  bool is_right(int draw) const {
    for (int rank = 0; rank < 3; ++rank) {
      for (int i = 0; i < kElements; ++i) {
        if (output(draw)[rank * kElements + i] != value(draw, rank, i)) return false;
      }
    }
    return true;
  }

  void expect_cause(const CallOutcome& outcome, int rank, const std::string& status, const std::string& reason) {
    EXPECT_FALSE(outcome.ok());
    int found = -1;
    const RankOutcome& cause = outcome.cause(&found);
    EXPECT_EQ(found, rank);
    EXPECT_EQ(cause.status, status);
    EXPECT_EQ(cause.reason, reason);
  }

  Team team_{MPI_COMM_WORLD};
  std::string prefix_;
  std::unique_ptr<Device> device_;
  Stream stream_;
  WorkerOptions options_;
  Instance instance_;
  std::unique_ptr<WorkerSession> session_;
  char* slab_ = nullptr;
  int round_ = 0;
};

TEST_F(WorkerTest, RunsBursts) {
  ready();
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(bind().ok());
    const CallOutcome outcome = call(Type::run, {{"draws", {2, 0, 1}}, {"delays_ns", {0, 1000000 * team_.rank(), 0}}});
    ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
    for (int draw = 0; draw < kDraws; ++draw) EXPECT_TRUE(is_right(draw)) << draw;
  }
  EXPECT_NE(session_->log_tail().find("candidate: set up"), std::string::npos);
  close_slab();
  ASSERT_TRUE(call(Type::teardown, Json::object()).ok());
  ASSERT_TRUE(call(Type::quit, Json::object()).ok());
}

TEST_F(WorkerTest, SetsUpAgainAfterTeardown) {
  ready();
  close_slab();
  ASSERT_TRUE(call(Type::teardown, Json::object()).ok());
  allocate();
  ASSERT_TRUE(setup("good").ok());
  ASSERT_TRUE(bind().ok());
  ASSERT_TRUE(call(Type::run, {{"draws", {0}}}).ok());
  EXPECT_TRUE(is_right(0));
}

TEST_F(WorkerTest, SymmetricArgumentsHavePeers) {
  ready(true);
  ASSERT_TRUE(bind("uses peers' inputs").ok());
  const CallOutcome outcome = call(Type::run, {{"draws", {0, 1, 2}}});
  ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
  for (int draw = 0; draw < kDraws; ++draw) EXPECT_TRUE(is_right(draw)) << draw;
}

TEST_F(WorkerTest, TimesInEachMode) {
  ready();
  using Mode = TimeRequest::Mode;
  for (const Mode mode : {Mode::warm_up, Mode::burst, Mode::each, Mode::isolated}) {
    ASSERT_TRUE(bind().ok());
    const CallOutcome outcome = call(Type::time, TimeRequest{mode, {0, 2, 1, 0}, true});
    ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
    const auto times = outcome.reply.get<TimeReply>();
    for (int draw = 0; draw < kDraws; ++draw) EXPECT_TRUE(is_right(draw)) << draw;
    EXPECT_EQ(times.threads_before, times.threads_after);
    EXPECT_GT(outcome.worker_us, times.wall_us);
    EXPECT_EQ(times.call_us.size(), mode == Mode::each || mode == Mode::isolated ? 4U : 0U);
    if (mode == Mode::warm_up) continue;
    EXPECT_GT(times.event_us, 0);
    EXPECT_GE(times.wall_us * 1.01, times.event_us);
  }
}

TEST_F(WorkerTest, SaysWhyThereIsNoGraph) {
  ready();
  ASSERT_TRUE(bind().ok());
  const CallOutcome outcome = call(Type::time, TimeRequest{TimeRequest::Mode::graph, {0, 1}, true});
  ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
  EXPECT_NE(outcome.reply.get<TimeReply>().not_captured, "");
  expect_cause(call(Type::time, TimeRequest{TimeRequest::Mode::replay, {0, 1}, true}), 0, "harness_error",
               "there is no graph to replay");
}

TEST_F(WorkerTest, LoadErrorsSayWhatTheFileIs) {
  const auto reason_for = [&](const fs::path& path) {
    const CallOutcome outcome = call(Type::load, {{"path", path}});
    EXPECT_EQ(outcome.cause().status, "load_error");
    session_ = std::make_unique<WorkerSession>(team_, std::make_unique<WorkerProcess>(options_), options_, instance_,
                                               static_cast<uint64_t>(++round_ + 100));
    return outcome.cause().reason;
  };
  EXPECT_EQ(reason_for("/nowhere/x.so"), "cannot read /nowhere/x.so: No such file or directory");
  const fs::path text = fs::temp_directory_path() / ("pkb_worker_test." + std::to_string(::getpid()) + ".so");
  std::ofstream(text) << "int main() {}\n";
  EXPECT_NE(reason_for(text).find(" is no shared object: it is not an ELF file"), std::string::npos);
  std::ofstream(text) << "\x7f"
                         "ELF";
  EXPECT_NE(reason_for(text).find(" is no shared object: it is cut off"), std::string::npos);
  fs::remove(text);
  EXPECT_NE(reason_for(options_.executable).find("cannot be loaded: "), std::string::npos);
  EXPECT_EQ(reason_for(candidate("team_worker_candidate_old")),
            "was built for version 99 of the candidate ABI, this pkb has version 1: compile it again with this pkb's "
            "headers");
  EXPECT_EQ(reason_for(candidate("team_worker_candidate_norun")),
            "does not export pkb_run: define it as pkb/candidate.h declares it (extern \"C\")");
  EXPECT_NE(
      reason_for("/lib/x86_64-linux-gnu/libm.so.6").find("does not export pkb_abi_version, pkb_last_error: include"),
      std::string::npos);
}

struct SetupCase {
  const char* behaviour;
  int on;
  const char* status;
  const char* reason;
};

TEST_F(WorkerTest, SetupFailures) {
  const SetupCase cases[] = {
      {"setup returns", 1, "setup_error", "pkb_setup returned 7"},
      {"setup throws", 2, "setup_error", "pkb_setup threw an exception: no such luck"},
      {"setup exits", 0, "crashed", "exited with status 0 inside pkb_setup"},
      {"setup asks unknown group", 0, "setup_error",
       "pkb_setup returned 5 after a service failed: symmetric_alloc: this rank is in no group \"tp\""},
      {"setup skips", 1, "diverged",
       "ranks 0, 2 asked for symmetric_alloc of 4000 bytes on world, rank 1 asked for the end of pkb_setup on world"},
      {"setup asks more", 2, "diverged",
       "ranks 0, 1 asked for symmetric_alloc of 4000 bytes on world, rank 2 asked for symmetric_alloc of 4064 bytes on "
       "world"},
  };
  for (const SetupCase& one : cases) {
    SCOPED_TRACE(one.behaviour);
    session_ = std::make_unique<WorkerSession>(team_, std::make_unique<WorkerProcess>(options_), options_, instance_,
                                               static_cast<uint64_t>(++round_ + 100));
    load();
    expect_cause(setup(one.behaviour, one.on), std::strcmp(one.status, "diverged") == 0 ? 0 : one.on, one.status,
                 one.reason);
  }
}

TEST_F(WorkerTest, RunFailures) {
  const SetupCase cases[] = {
      {"returns", 1, "runtime_error", "pkb_run (call 1 of 2) returned 42"},
      {"throws", 0, "runtime_error", "pkb_run (call 1 of 2) threw an exception"},
      {"exits", 2, "crashed", "exited with status 0 inside pkb_run"},
      {"crashes", 1, "crashed", "killed by signal 11 (Segmentation fault) inside pkb_run"},
      {"prints and crashes", 1, "crashed", "killed by signal 6 (Aborted) inside pkb_run"},
      {"leaves an error", 0, "runtime_error", "pkb_run (call 1 of 2): invalid configuration argument (CUDA error 9)"},
  };
  for (const SetupCase& one : cases) {
    SCOPED_TRACE(one.behaviour);
    close_slab();
    session_ = std::make_unique<WorkerSession>(team_, std::make_unique<WorkerProcess>(options_), options_, instance_,
                                               static_cast<uint64_t>(++round_ + 100));
    ready();
    ASSERT_TRUE(bind(one.behaviour, one.on).ok());
    expect_cause(call(Type::run, {{"draws", {0, 1}}}), one.on, one.status, one.reason);
    if (std::strcmp(one.behaviour, "prints and crashes") == 0 && team_.rank() == one.on) {
      EXPECT_NE(session_->log_tail().find("last words"), std::string::npos);
    }
  }
}

TEST_F(WorkerTest, EndlessCallsTimeOut) {
  ready();
  ASSERT_TRUE(bind("hangs", 1).ok());
  const CallOutcome outcome = call(Type::run, {{"draws", {0}}}, 1.0);
  EXPECT_EQ(outcome.cause().status, "timeout");
  EXPECT_EQ(outcome.cause().reason, "did not finish pkb_run within 1 s");
}

TEST_F(WorkerTest, ServicesAreForSetupOnly) {
  ready();
  ASSERT_TRUE(bind("asks for services").ok());
  EXPECT_TRUE(call(Type::run, {{"draws", {0}}}).ok()) << "the candidate gets an error code and goes on";
  EXPECT_NE(session_->log_tail().find("symmetric_alloc: services are valid in pkb_setup only"), std::string::npos);
}

TEST_F(WorkerTest, TheRanksMemoryIsOutOfReach) {
  ready();
  ASSERT_TRUE(bind("reads the rank").ok());
  const CallOutcome outcome = call(Type::run, {{"draws", {0}}});
  EXPECT_TRUE(outcome.ok()) << outcome.cause().reason;
}

TEST_F(WorkerTest, NewThreadsAreCounted) {
  ready();
  ASSERT_TRUE(bind("starts a thread", 1).ok());
  const CallOutcome outcome = call(Type::time, TimeRequest{TimeRequest::Mode::burst, {0}, true});
  ASSERT_TRUE(outcome.ok()) << outcome.cause().reason;
  const auto times = outcome.reply.get<TimeReply>();
  EXPECT_EQ(times.threads_after - times.threads_before, team_.rank() == 1 ? 1 : 0);
}

TEST_F(WorkerTest, WrongOrderIsRefused) {
  expect_cause(call(Type::run, {{"draws", {0}}}), 0, "runtime_error", "pkb_setup has to come first");
}

}  // namespace
}  // namespace pkb
