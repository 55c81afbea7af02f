// SPDX-License-Identifier: Apache-2.0
#include "evaluate/timing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "evaluate/order.h"
#include "evaluate/room.h"

namespace pkb {
namespace {

using protocol::TimeReply;
using protocol::TimeRequest;
using Mode = TimeRequest::Mode;

// Where times do not count (host, shared GPUs) they are still recorded, from few calls.
constexpr int kFewWarmup = 2, kFewIterations = 5;
constexpr int kLeastCalls = 10;
constexpr int kProbeCalls = 5;
// The calls between the alignment and the loop: how many draws they take turns on, and how long they go on, so that
// processors are awake and caches hold what the loop uses.
constexpr int kLeastLeadInDraws = 3, kMostLeadInDraws = 8;
constexpr double kLeadInUs = 1500;
constexpr int kMostLeadInCalls = 300;
// Draws of the timed passes lie far from those of the trials.
constexpr int64_t kFirstTimedDraw = 1'000'000;
constexpr std::chrono::seconds kReferenceLimit{1800};
// A worker's events are believed while the rank's clock, which has messages and synchronisation in it, shows at most
// this share more, and a little; what is still to be done after the end event may take as long. What the machine did
// once it does not do in every one of some more loops.
constexpr double kBelievedShare = 0.05, kBelievedExtraUs = 500;
constexpr int kLoopsInDoubt = 3;

/// One side of the comparison: the reference in this process, or the candidate in its worker.
using Side = std::function<TimeReply(const TimeRequest&)>;

Side reference_side(Job& job, const std::string& baseline) {
  return [&job, baseline](const TimeRequest& request) {
    Watchdog::Step step(job.watchdog, "timing the reference", kReferenceLimit);
    TimeReply reply;
    together(job.team, [&] { reply = job.reference.time(baseline, request); });
    return reply;
  };
}

Side candidate_side(Contestant& contestant) {
  return [&contestant](const TimeRequest& request) { return contestant.time(request); };
}

/// Sums over rounds for one side.
class Collector {
 public:
  explicit Collector(Team& team) : team_(team) { call_us_.resize(static_cast<std::size_t>(team.size())); }

  /// Collective. `headline`: the round's event and wall time count. The slowest rank counts, round by round.
  void add(const TimeReply& reply, std::size_t calls, bool headline) {
    if (headline) {
      event_us_ += team_.maximum(reply.event_us);
      wall_us_ += team_.maximum(reply.wall_us);
      calls_ += calls;
    }
    if (!reply.call_us.empty()) {
      const auto all = team_.all_gather(std::span<const double>(reply.call_us));
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        call_us_[rank].insert(call_us_[rank].end(), all[rank].begin(), all[rank].end());
      }
    }
  }

  SideTimes result(bool mean_of_calls) {
    SideTimes times;
    if (calls_ > 0) {
      times.mean_us = event_us_ / static_cast<double>(calls_);
      times.wall_us = wall_us_ / static_cast<double>(calls_);
    }
    times.call_us = std::move(call_us_);
    summarise(times);
    if (mean_of_calls) times.mean_us = mean_of_maxima(times);
    return times;
  }

 private:
  static double mean_of_maxima(const SideTimes& times);
  Team& team_;
  double event_us_ = 0, wall_us_ = 0;
  std::size_t calls_ = 0;
  std::vector<std::vector<double>> call_us_;
};

template <class... Numbers>
std::string in_words(const char* format, Numbers... numbers) {
  char text[160];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

std::vector<double> maxima_over_ranks(const SideTimes& times) {
  std::vector<double> maxima;
  for (const auto& calls : times.call_us) {
    maxima.resize(std::max(maxima.size(), calls.size()), 0);
    for (std::size_t i = 0; i < calls.size(); ++i) maxima[i] = std::max(maxima[i], calls[i]);
  }
  return maxima;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Collector::mean_of_maxima(const SideTimes& times) {
  const auto maxima = maxima_over_ranks(times);
  return maxima.empty() ? kNoValue : mean(maxima);
}

/// One evaluation's timing of one mode.
class ModeTimer {
 public:
  ModeTimer(Job& job, Contestant* contestant, const Instance& instance, std::string mode, int slots,
            CorrectnessReport& report)
      : job_(job),
        contestant_(contestant),
        instance_(instance),
        mode_(std::move(mode)),
        slots_(slots),
        report_(report),
        random_(job.seed ^ static_cast<uint64_t>(instance.problem->id)) {
    plan_.draws = std::min(slots, job.options.iterations);
  }

  TimingResult run() {
    TimingResult result;
    refresh();
    choose_counts(choose_baseline(result));
    plan_.l2_warm = job_.device.kind() == DeviceKind::cuda &&
                    SlabLayout(instance_, plan_.draws).bytes() < 3 * job_.device.facts().l2_bytes;
    const Side reference = reference_side(job_, result.baseline);
    warm_up(reference, true);
    if (contestant_) warm_up(candidate_side(*contestant_), false);

    Collector reference_times(job_.team), candidate_times(job_.team);
    headline_pass(reference, reference_times, candidate_times, result);
    if (mode_ == "stream") instrumented_pass(reference, reference_times, candidate_times);
    finish(result.reference, reference_times);
    finish(result.candidate, candidate_times);
    result.plan = plan_;
    return result;
  }

 private:
  /// Inputs drawn anew on both sides, outputs poisoned.
  void refresh() {
    const int slots = plan_.draws + lead_in_draws_;
    together(job_.team, [&] { job_.reference.make_draws(instance_, next_draw_, slots); });
    next_draw_ += slots;
    if (contestant_) contestant_->load_draws(instance_);
  }

  void compare(int slots) { check_slots(job_, *contestant_, instance_, slots, -1, report_); }

  bool is_isolated() const { return mode_ == "isolated"; }

  double probe(const Side& side) {
    const auto order = shuffled_order(kProbeCalls, plan_.draws, random_);
    side({Mode::warm_up, {order.front()}, true});
    const TimeReply reply = side({is_isolated() ? Mode::isolated : Mode::burst, order, true});
    return job_.team.maximum(reply.wall_us) / kProbeCalls;
  }

  /// The fastest baseline, and the slower side's time a call.
  double choose_baseline(TimingResult& result) {
    double best = HUGE_VAL;
    for (const std::string& name : job_.reference.baselines()) {
      const double call_us = probe(reference_side(job_, name));
      if (call_us < best) {
        best = call_us;
        result.baseline = name;
      }
    }
    fastest_us_ = best;
    if (!contestant_) return best;
    const double call_us = probe(candidate_side(*contestant_));
    fastest_us_ = std::min(best, call_us);
    contestant_->set_expected_call(std::chrono::duration<double>(call_us * 1e-6));
    return std::max(best, call_us);
  }

  void choose_counts(double call_us) {
    if (!job_.times_count()) {
      plan_.warmup = std::min(kFewWarmup, job_.options.warmup);
      plan_.iterations = std::min(kFewIterations, job_.options.iterations);
    } else {
      plan_.warmup = job_.options.warmup;
      plan_.iterations = job_.options.iterations;
      const double passes = mode_ == "stream" ? 2 : 1;
      const double wanted_us = call_us * (plan_.warmup + passes * plan_.iterations);
      const double budget_us = job_.options.time_budget_s * 1e6;
      if (budget_us > 0 && wanted_us > budget_us) {
        const double share = budget_us / wanted_us;
        const auto shorten = [share](int calls) {
          return std::min(calls, std::max(kLeastCalls, static_cast<int>(calls * share)));
        };
        plan_.warmup = shorten(plan_.warmup);
        plan_.iterations = shorten(plan_.iterations);
      }
    }
    plan_.draws = std::min(plan_.draws, plan_.iterations);
    choose_lead_in();
  }

  /// Of a length that a candidate cannot foresee, in slots beyond the timed ones; calls without such slots are so long
  /// that they need none.
  void choose_lead_in() {
    lead_in_draws_ = 0;
    if (!job_.times_count() || is_isolated()) return;
    const auto wanted = kLeastLeadInDraws + static_cast<int>(random_() % (kMostLeadInDraws - kLeastLeadInDraws + 1));
    lead_in_draws_ = std::min(wanted, slots_ - plan_.draws);
  }

  /// Before a graph each draw once: launches must not outlast the head start.
  std::vector<int32_t> lead_in() {
    if (lead_in_draws_ == 0) return {};
    int calls = lead_in_draws_;
    if (mode_ != "graph") {
      calls += std::min(kMostLeadInCalls, static_cast<int>(kLeadInUs / std::max(fastest_us_, 1.0)));
    }
    std::vector<int32_t> slots = shuffled_order(calls, lead_in_draws_, random_);
    for (int32_t& slot : slots) slot += plan_.draws;
    return slots;
  }

  void warm_up(const Side& side, bool is_reference) {
    if (plan_.warmup > 0) side({Mode::warm_up, shuffled_order(plan_.warmup, plan_.draws, random_), true});
    if (mode_ != "graph") return;
    if (const std::string known = why_no_graph(is_reference); !known.empty()) {
      (is_reference ? reference_not_captured_ : candidate_not_captured_) = known;
      return;
    }
    // A graph is captured and replayed once before its inputs are drawn anew and the replay that counts.
    const TimeReply reply = side({Mode::graph, shuffled_order(plan_.draws, plan_.draws, random_), true});
    std::string why = reply.not_captured;
    for (const std::string& other : job_.team.all_gather(reply.not_captured)) {
      if (why.empty()) why = other;
    }
    (is_reference ? reference_not_captured_ : candidate_not_captured_) = why;
  }

  /// Known beforehand: an attempt could leave ranks waiting for each other in the middle of a call.
  std::string why_no_graph(bool is_reference) const {
    if (arguments_change(instance_)) return "cannot be captured: scalars or shapes change from call to call";
    if (!is_reference) return {};
    if (!instance_.problem->capture.empty()) return "cannot be captured: " + instance_.problem->capture;
    if (job_.device.kind() == DeviceKind::cuda && job_.ranks_per_gpu > 1) {
      return "cannot be captured: ranks share GPUs, so its collectives go through MPI";
    }
    return {};
  }

  TimeRequest timed_request(int calls) {
    if (mode_ == "graph") {
      return {Mode::replay, std::vector<int32_t>(static_cast<std::size_t>(plan_.draws)), true, lead_in()};
    }
    return {is_isolated() ? Mode::isolated : Mode::burst, shuffled_order(calls, calls, random_), true, lead_in()};
  }

  /// Rounds of at most as many calls as there are draws; both sides get the same order.
  void headline_pass(const Side& reference, Collector& reference_times, Collector& candidate_times,
                     TimingResult& result) {
    const bool time_reference = reference_not_captured_.empty();
    const bool time_candidate = contestant_ && candidate_not_captured_.empty();
    if (!time_reference) result.reference.null_reason = reference_not_captured_;
    if (!time_candidate && contestant_) result.candidate.null_reason = candidate_not_captured_;
    for (int done = 0; done < plan_.iterations; done += plan_.draws) {
      const int calls = mode_ == "graph" ? plan_.draws : std::min(plan_.draws, plan_.iterations - done);
      refresh();
      const TimeRequest request = timed_request(calls);
      const auto count = static_cast<std::size_t>(calls);
      if (time_reference) reference_times.add(reference(request), count, true);
      if (!time_candidate) continue;
      const TimeReply reply = contestant_->time(request);
      candidate_times.add(reply, count, true);
      read_clocks(result);
      compare(calls);
      if (result.doubt.status.empty() && !doubt_about(reply, calls).status.empty()) {
        result.doubt = doubt_after_more(request, calls);
      }
    }
  }

  /// Collective. What a loop shows of work beside the timed calls.
  Doubt doubt_about(const TimeReply& reply, int calls) {
    const auto most = [this](double value) { return job_.team.maximum(value); };
    const double threads = most(reply.threads_after - reply.threads_before);
    if (threads > 0) return {"cheated", in_words("timed calls started %g threads", threads)};
    if (!job_.times_count()) return {};
    const double believed_us = kBelievedShare * reply.event_us + kBelievedExtraUs;
    if (!job_.team.all(reply.tail_us <= believed_us)) {
      return {"cheated",
              in_words("the device still worked %.3g us after the end of the timed calls", most(reply.tail_us))};
    }
    // Isolated calls stand between flushes, which the events leave out. A rank may wait for another: only where the
    // clocks of all contradict their events there is no other explanation.
    if (is_isolated() || !job_.team.all(reply.wall_us > reply.event_us + believed_us)) return {};
    return {"implausible", in_words("the worker's events say %.3g us a call, this side's clock %.3g us",
                                    most(reply.event_us) / calls, most(reply.wall_us) / calls)};
  }

  /// Loops that do not count; empty when one of them is beyond doubt.
  Doubt doubt_after_more(const TimeRequest& request, int calls) {
    Doubt doubt;
    for (int loop = 0; loop < kLoopsInDoubt; ++loop) {
      refresh();
      const TimeReply reply = contestant_->time(request);
      compare(calls);
      doubt = doubt_about(reply, calls);
      if (doubt.status.empty()) return {};
    }
    return doubt;
  }

  /// Right after a timed loop, before the clock falls.
  void read_clocks(TimingResult& result) {
    const GpuClocks::Reading mine = job_.clocks.read();
    const double lowest = -job_.team.maximum(mine.sm_mhz > 0 ? -mine.sm_mhz : -HUGE_VAL);
    if (!std::isfinite(lowest)) return;
    if (!(result.sm_clock_mhz <= lowest)) result.sm_clock_mhz = lowest;
    for (const std::string& reasons : job_.team.all_gather(mine.throttle)) {
      if (!reasons.empty() && result.throttle.find(reasons) == std::string::npos) {
        result.throttle += (result.throttle.empty() ? "" : " ") + reasons;
      }
    }
  }

  /// Per-call times, from a pass of its own: events between calls would disturb the headline.
  void instrumented_pass(const Side& reference, Collector& reference_times, Collector& candidate_times) {
    for (int done = 0; done < plan_.iterations; done += plan_.draws) {
      const int calls = std::min(plan_.draws, plan_.iterations - done);
      refresh();
      const TimeRequest request{Mode::each, shuffled_order(calls, calls, random_), true, lead_in()};
      reference_times.add(reference(request), static_cast<std::size_t>(calls), false);
      if (!contestant_) continue;
      candidate_times.add(contestant_->time(request), static_cast<std::size_t>(calls), false);
      compare(calls);
    }
  }

  void finish(SideTimes& times, Collector& collected) {
    if (!times.null_reason.empty()) return;
    times = collected.result(is_isolated());
  }

  Job& job_;
  Contestant* contestant_;
  const Instance& instance_;
  const std::string mode_;
  const int slots_;
  CorrectnessReport& report_;
  std::mt19937_64 random_;
  TimingPlan plan_;
  int lead_in_draws_ = 0;
  double fastest_us_ = 0;  ///< a call of the faster side
  int64_t next_draw_ = kFirstTimedDraw;
  std::string reference_not_captured_, candidate_not_captured_;
};

}  // namespace

int slots_that_fit(Job& job, const Instance& instance, int iterations) {
  const int wanted = job.times_count() ? iterations + kMostLeadInDraws : std::min(iterations, kFewIterations);
  const double bytes = bytes_of_draw(instance);
  const double room = 0.1 * job.free_bytes;
  const double fitting = std::floor(room / bytes);
  if (fitting >= wanted) return wanted;
  const double giant = 5 * room;
  const int least = 2 * bytes > giant ? 1 : 2;
  return std::max(least, static_cast<int>(fitting));
}

void summarise(SideTimes& times) {
  auto maxima = maxima_over_ranks(times);
  if (maxima.empty()) return;
  std::sort(maxima.begin(), maxima.end());
  const std::size_t n = maxima.size();
  const double average = mean(maxima);
  double squares = 0;
  for (const double value : maxima) squares += (value - average) * (value - average);
  times.min_us = maxima.front();
  times.median_us = n % 2 == 1 ? maxima[n / 2] : 0.5 * (maxima[n / 2 - 1] + maxima[n / 2]);
  times.p95_us = maxima[std::min(n - 1, static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(n))) - 1)];
  times.stdev_us = n > 1 ? std::sqrt(squares / static_cast<double>(n - 1)) : 0;
}

TimingResult time_mode(Job& job, Contestant* contestant, const Instance& instance, const std::string& mode, int slots,
                       CorrectnessReport& report) {
  return ModeTimer(job, contestant, instance, mode, slots, report).run();
}

}  // namespace pkb
