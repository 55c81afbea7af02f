// SPDX-License-Identifier: Apache-2.0
//
// Stands in for pkb_worker in the tests of the team room: it does what the request says. A request with {"script":
// [steps]} runs the steps; others are answered with {"ok": true}. A step is {"do": what, ...}.
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "worker/protocol.h"

namespace {

using pkb::protocol::Channel;
using pkb::protocol::Json;
using pkb::protocol::Type;

constexpr auto kNever = pkb::protocol::Clock::time_point::max();

/// What the process finds itself in.
Json surroundings() {
  Json environment = Json::array(), descriptors = Json::array();
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) descriptors.push_back(descriptor);
  }
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  struct sigaction pipe_action {};
  ::sigaction(SIGPIPE, nullptr, &pipe_action);
  return {{"environment", environment},
          {"descriptors", descriptors},
          {"leads_group", ::getpgrp() == ::getpid()},
          {"blocks_usr1", ::sigismember(&blocked, SIGUSR1) == 1},
          {"ignores_pipe", pipe_action.sa_handler == SIG_IGN}};
}

class FakeWorker {
 public:
  explicit FakeWorker(Channel channel) : channel_(std::move(channel)) {}

  void serve() {
    while (true) {
      const auto read = channel_.receive(kNever);
      if (read.status != pkb::protocol::ReadStatus::frame) return;
      request_ = read.frame.body;
      texts_ = Json::array();
      if (!request_.contains("script")) {
        reply({});
        if (read.frame.type == Type::quit) return;
        continue;
      }
      for (const Json& step : request_["script"]) perform(step);
    }
  }

 private:
  void reply(Json body) {
    if (!body.contains("ok")) body["ok"] = true;
    body["texts"] = texts_;
    body["request"] = request_;
    channel_.send(Type::reply, body, kNever);
  }

  void perform(const Json& step) {
    const std::string what = step["do"];
    if (what == "reply") return reply(step.value("body", Json::object()));
    if (what == "exchange") return exchange(step);
    if (what == "sleep") return std::this_thread::sleep_for(std::chrono::milliseconds(step["ms"].get<int>()));
    if (what == "hang") return static_cast<void>(::pause());
    if (what == "exit") std::exit(step["status"].get<int>());
    if (what == "signal") return static_cast<void>(::raise(step["number"].get<int>()));
    if (what == "raw") return write_raw(step["bytes"]);
    if (what == "send")
      return static_cast<void>(channel_.send(static_cast<Type>(step["type"].get<int>()), step["body"], kNever));
    if (what == "close") return static_cast<void>(::close(channel_.descriptor()));
    if (what == "print") return print(step["text"]);
    if (what == "surroundings") return reply(surroundings());
    if (what == "fork") return fork_sleeper();
  }

  void exchange(const Json& step) {
    channel_.send(Type::exchange, {{"what", step["what"]}, {"group", step["group"]}, {"text", step["text"]}}, kNever);
    const auto answer = channel_.receive(kNever);
    if (answer.frame.type == Type::exchanged) texts_.push_back(answer.frame.body["texts"]);
  }

  void write_raw(const std::string& bytes) const {
    [[maybe_unused]] const ssize_t written = ::write(channel_.descriptor(), bytes.data(), bytes.size());
  }

  static void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  void fork_sleeper() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::sleep(600);
      ::_exit(0);
    }
    reply({{"child", child}});
  }

  Channel channel_;
  Json request_, texts_;
};

}  // namespace

int main() {
  FakeWorker(Channel(3)).serve();
  return 0;
}
