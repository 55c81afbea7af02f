// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/error.h"
#include "team/team.h"

namespace pkb {

struct Watchdog::State {
  struct Watched {
    std::string what;
    double limit_s = 0;
    Clock::time_point deadline;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Watched> step;
  bool ending = false;
  std::thread thread;

  void watch() {
    std::unique_lock lock(mutex);
    while (!ending) {
      if (!step) {
        changed.wait(lock);
      } else if (Clock::now() < step->deadline) {
        changed.wait_until(lock, step->deadline);
      } else {
        end_job(*step);
      }
    }
  }

  /// The thread that overran cannot be interrupted, so nothing is cleaned up; the launcher ends the other ranks.
  [[noreturn]] static void end_job(const Watched& step) {
    char line[512];
    const int length =
        std::snprintf(line, sizeof line,
                      "pkb: harness: %.300s did not finish within %g s; the job ends here, the rows so far "
                      "are in the journal\n",
                      step.what.c_str(), step.limit_s);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    ::_exit(kExitHarness);
  }
};

Watchdog::Watchdog() : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get()] { state->watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_one();
  state_->thread.join();
}

Watchdog::Step::Step(Watchdog& watchdog, std::string what, std::chrono::duration<double> limit) : watchdog_(watchdog) {
  State& state = *watchdog_.state_;
  {
    const std::lock_guard lock(state.mutex);
    if (state.step) throw Error("watchdog: " + what + " begins inside " + state.step->what);
    // Capped, so that an endless limit does not overflow the clock.
    const auto capped = std::min(limit, std::chrono::duration<double>(std::chrono::hours(24 * 365)));
    state.step = State::Watched{std::move(what), limit.count(),
                                Clock::now() + std::chrono::duration_cast<Clock::duration>(capped)};
  }
  state.changed.notify_one();
}

Watchdog::Step::~Step() {
  const std::lock_guard lock(watchdog_.state_->mutex);
  watchdog_.state_->step.reset();
}

}  // namespace pkb
