// SPDX-License-Identifier: Apache-2.0
#include "evaluate/evaluation.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <future>
#include <memory>
#include <random>

#include "catalogue/expression.h"
#include "core/error.h"
#include "core/log.h"
#include "evaluate/compile.h"
#include "evaluate/contestant.h"
#include "evaluate/controls.h"
#include "evaluate/correctness.h"
#include "evaluate/dynamic_symbols.h"
#include "evaluate/mechanisms.h"
#include "evaluate/program.h"
#include "evaluate/room.h"
#include "evaluate/sha256.h"
#include "evaluate/timing.h"
#include "results/environment.h"
#include "team/strays.h"

namespace pkb {
namespace {

std::string params_text(const Instance& instance) {
  std::string text;
  for (const auto& [name, unused] : instance.problem->params) {
    const double value = instance.params.at(name);
    char number[32];
    std::snprintf(number, sizeof number, "%.10g", value);
    text += (text.empty() ? "" : " ") + name + "=" + number;
  }
  return text;
}

std::string shared_inputs(const Instance& instance) {
  std::string names;
  for (const TensorInstance& input : instance.inputs) {
    if (input.shared) names += (names.empty() ? "" : " ") + input.name;
  }
  return names;
}

/// Collective. Unless the user chose it, nobody can know it before the row is written: who knows the seed can make the
/// inputs of other ranks without communication.
void choose_seed(Job& job) {
  job.seed = job.options.seed;
  if (job.seed == 0) {
    std::random_device random;
    const uint64_t own = uint64_t{random()} << 32 | random();
    job.seed = std::stoull(job.team.all_gather(std::to_string(own)).front()) | 1;
  }
  job.reference.set_seed(job.seed);
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// The modes a problem can be timed in: a call that changes its inputs only alone, on restored inputs.
std::vector<std::string> timings_of(const Problem& problem, const std::vector<std::string>& asked) {
  if (problem.inplace.empty()) return asked;
  return {"isolated"};
}

Row describe(const Job& job, const Item& item) {
  const Problem& problem = *item.problem;
  Row row;
  row.problem_id = problem.id;
  row.problem = problem.name;
  row.title = problem.title;
  row.suites = problem.suites;
  row.domain = problem.domain;
  row.level = problem.level;
  row.candidate = item.candidate.label;
  row.sample = item.candidate.sample;
  row.repeat = item.repeat;
  row.size = item.size;
  row.world = job.team.size();
  row.device = name_of(job.device.kind());
  row.io = job.options.io;
  row.seed = job.seed;
  row.started = utc_now();
  return row;
}

class Evaluation {
 public:
  Evaluation(Job& job, WorkerPool& pool, const Item& item, uint64_t number)
      : job_(job), pool_(pool), item_(item), number_(number), started_(Clock::now()), base_(describe(job, item)) {}

  std::vector<Row> run() {
    try {
      judge();
    } catch (const EvaluationEnded& ended) {
      fail(ended.verdict());
    }
    finish();
    return std::move(rows_);
  }

 private:
  const Problem& problem() const { return *item_.problem; }

  /// Samples with a name of their own have a folder of their own, as they have a name on the screen.
  std::filesystem::path dumps() const {
    if (job_.options.dump.empty()) return {};
    const auto folder = job_.options.dump / problem().folder_name();
    const bool named = !item_.candidate.none() && item_.candidate.sample != "candidate";
    return named ? folder / item_.candidate.sample : folder;
  }

  void judge() {
    for (const std::string& why : {item_.skip, item_.candidate.missing}) {
      if (!why.empty()) throw EvaluationEnded({"skipped", why, -1, {}});
    }
    instance_ = make_instance(problem(), item_.size, item_.overrides, job_.team.size(), job_.team.rank(), 0);
    base_.params = params_text(instance_);
    job_.free_bytes = free_bytes_of_rank(job_);
    describe_limits();
    together(job_.team, [&] { job_.reference.load(job_.resources.reference(problem())); });
    if (!item_.candidate.control.empty()) {
      report_ = check_control(job_, problem(), item_.size, item_.overrides, control_named(item_.candidate.control));
      base_.trials = report_.trials;
      rows_.push_back(base_);
      return;
    }
    if (item_.candidate.none()) {
      report_ = check_reference(job_, problem(), item_.size, item_.overrides, dumps());
      base_.trials = report_.trials;
      time_all(nullptr);
      return;
    }
    const Compiled compiled = compile();
    base_.candidate_sha256 = compiled.sha256;
    if (!compiled.ok()) {
      base_.log_tail = compiled.log_tail;
      throw EvaluationEnded({"compile_error", compiled.reason, -1, {}});
    }
    inspect(compiled.module);
    judge_candidate(compiled.module);
  }

  /// Collective. What the file shows before it is loaded.
  void inspect(const std::filesystem::path& module) {
    std::string file;
    together(job_.team, [&] { file = read_file(module); });
    const DynamicSymbols symbols = dynamic_symbols(file);
    for (const std::string& refusal : job_.team.all_gather(refused_link(symbols))) {
      if (!refusal.empty()) throw EvaluationEnded({"cheated", refusal, -1, {}});
    }
    if (job_.device.kind() != DeviceKind::cuda || job_.team.rank() != 0) return;
    mechanisms_ = std::async(std::launch::async, [module, symbols, file, facts = job_.device.facts()] {
      std::string why_not;
      const auto found = find_mechanisms(module, symbols, facts, module_cache(), sha256(file), why_not);
      if (!why_not.empty()) log::warning("the mechanisms of " + module.string() + " are unknown: " + why_not);
      return found;
    });
  }

  void note_mechanisms() {
    if (mechanisms_.valid()) base_.mechanisms = mechanisms_.get();
  }

  /// Its errors are the same on all ranks.
  Compiled compile() {
    try {
      return compile_candidate(job_.team, item_.candidate.file, job_.device.facts(), job_.resources);
    } catch (const Error& error) {
      throw EvaluationEnded({"harness_error", error.what(), -1, {}});
    }
  }

  void judge_candidate(const std::filesystem::path& module) {
    contestant_ = std::make_unique<Contestant>(job_, pool_, instance_, module, number_);
    const int slots = slots_that_fit(job_, instance_, job_.options.iterations);
    report_ = check(job_, *contestant_, problem(), item_.size, item_.overrides, slots, dumps());
    base_.trials = report_.trials;
    base_.setup_us = job_.team.maximum(contestant_->setup_us());
    note_mechanisms();  // nothing else works while calls are timed
    if (!report_.default_set_up) contestant_->set_up(instance_, std::max(slots, burst_that_fits(job_, instance_)));
    time_all(contestant_.get());
    try {
      contestant_->tear_down();
    } catch (const EvaluationEnded& ended) {
      void_rows(ended.verdict());
    }
  }

  /// What is found out last, in teardown, holds for all that was measured.
  void void_rows(const Verdict& verdict) {
    for (Row& row : rows_) {
      if (row.status != "passed") continue;
      void_row(row, verdict.status, verdict.reason);
      row.failing_rank = verdict.rank;
      add_log_tail(row);
    }
  }

  void describe_limits() {
    const auto phases = phases_of(problem(), item_.size, item_.overrides, job_.team.size());
    if (!job_.profile) return;
    limits_ = roofline(phases, *job_.profile, job_.options.multicast);
    base_.profile = job_.profile->name;
    base_.roofline_us = limits_.seconds * 1e6;
    base_.bound = limits_.bound;
    base_.flops = limits_.flops;
    base_.memory_bytes = limits_.mem_bytes;
    base_.link_bytes = limits_.comm_bytes;
  }

  void time_all(Contestant* contestant) {
    const int slots = slots_that_fit(job_, instance_, job_.options.iterations);
    for (const std::string& mode : timings_of(problem(), job_.options.timing)) {
      base_.timing = mode;
      const TimingResult result = time_mode(job_, contestant, instance_, mode, slots, report_);
      base_.memory_bytes_peak = std::max(base_.memory_bytes_peak, memory_in_use());
      rows_.push_back(timed_row(result, contestant != nullptr));
    }
    base_.timing.clear();
  }

  /// While both sides still hold their draws.
  int64_t memory_in_use() {
    const int64_t mine = job_.device.kind() == DeviceKind::cuda
                             ? job_.device.facts().total_bytes - job_.device.free_bytes()
                             : resident_bytes();
    return static_cast<int64_t>(job_.team.maximum(static_cast<double>(mine)));
  }

  Row timed_row(const TimingResult& result, bool has_candidate) {
    Row row = base_;
    row.warmup = result.plan.warmup;
    row.iterations = result.plan.iterations;
    row.draws = result.plan.draws;
    row.shared_inputs = shared_inputs(instance_);
    if (job_.device.kind() == DeviceKind::cuda) row.l2 = result.plan.l2_warm ? "warm" : "cold";
    row.baseline = result.baseline;
    row.reference = result.reference;
    row.candidate_times = result.candidate;
    row.sm_clock_mhz = result.sm_clock_mhz;
    row.throttle = result.throttle;
    row.max_absolute_error = has_candidate ? report_.max_absolute_error : kNoValue;
    row.max_relative_error = has_candidate ? report_.max_relative_error : kNoValue;
    const double judged_us = has_candidate ? row.candidate_times.mean_us : row.reference.mean_us;
    add_bandwidth(row, judged_us);
    if (has_candidate) refuse_what_is_doubted(row, result.doubt);
    if (!job_.times_count()) return row;
    row.roofline_percent = 100 * row.roofline_us / judged_us;
    if (!has_candidate) return row;
    if (row.status == "passed") row.speedup = row.reference.mean_us / row.candidate_times.mean_us;
    refuse_the_impossible(row, result.plan);
    return row;
  }

  /// No kernel can beat the slowest resource's total; such a time is an error of measurement or a cheat, not a
  /// speed-up.
  void refuse_the_impossible(Row& row, const TimingPlan& plan) {
    const double floor_us = 1e6 * (plan.l2_warm ? limits_.floor_without_memory : limits_.floor_seconds);
    if (!(row.candidate_times.mean_us < floor_us) || row.status != "passed") return;
    char text[160];
    std::snprintf(text, sizeof text, "%.3g us a call is below %.3g us, the least that profile %s allows",
                  row.candidate_times.mean_us, floor_us, row.profile.c_str());
    void_row(row, "implausible", text);
  }

  static void void_row(Row& row, const std::string& status, const std::string& reason) {
    row.status = status;
    row.reason = reason;
    row.speedup = kNoValue;
  }

  static void refuse_what_is_doubted(Row& row, const Doubt& doubt) {
    if (doubt.status.empty()) return;
    void_row(row, doubt.status, doubt.reason);
  }

  void add_bandwidth(Row& row, double us) {
    if (problem().algorithm_bytes.empty() || !(us > 0)) return;
    const Expression bytes{problem().algorithm_bytes, problem().line}, factor{problem().bus_bytes, problem().line};
    const double message = evaluate(bytes, instance_.params);
    row.algbw_gbps = message / us * 1e-3;
    row.busbw_gbps = row.algbw_gbps * evaluate(factor, instance_.params);
  }

  void fail(const Verdict& verdict) {
    note_mechanisms();
    Row row = base_;
    row.status = verdict.status;
    row.reason = verdict.reason;
    row.failing_rank = verdict.rank;
    row.mismatch = verdict.mismatch;
    if (verdict.status == "mismatch") row.trials = std::max(row.trials, verdict.mismatch.trial + 1);
    if (contestant_) add_log_tail(row);
    rows_.push_back(row);
  }

  /// The log of the rank that failed, else the root's.
  void add_log_tail(Row& row) {
    const auto tails = job_.team.all_gather(contestant_->log_tail());
    row.log_tail = tails[static_cast<std::size_t>(std::max(row.failing_rank, 0))];
  }

  /// Collective. Other processes of a candidate could work while nobody looks.
  void refuse_strays() {
    if (!contestant_) return;
    const int mine = kill_strays({contestant_->pid(), pool_.next_pid()});
    const double most = job_.team.maximum(mine);
    if (most > 0)
      void_rows({"cheated",
                 "it started processes of its own, up to " + std::to_string(static_cast<int>(most)) + " on a rank",
                 -1,
                 {}});
  }

  void finish() {
    refuse_strays();
    const bool worker_died = contestant_ && !contestant_->alive();
    contestant_.reset();
    job_.reference.release();
    job_.team.barrier();
    // What a killed worker had no time to remove.
    if (worker_died && job_.device.kind() == DeviceKind::host && job_.team.place().local_rank == 0)
      sweep_shared_memory();
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    for (Row& row : rows_) row.seconds = seconds;
  }

  Job& job_;
  WorkerPool& pool_;
  const Item& item_;
  const uint64_t number_;
  const Clock::time_point started_;
  Row base_;
  std::vector<Row> rows_;
  Instance instance_;
  Roofline limits_;
  CorrectnessReport report_;
  std::unique_ptr<Contestant> contestant_;
  std::future<std::vector<std::string>> mechanisms_;  ///< of the root
};

}  // namespace

std::vector<RowKey> row_keys(const Job& job, const Item& item) {
  Row row = describe(job, item);
  const bool runs = item.skip.empty() && item.candidate.missing.empty();
  if (!item.candidate.file.empty()) row.candidate_sha256 = sha256(read_file(item.candidate.file));
  if (runs) {
    row.params = params_text(make_instance(*item.problem, item.size, item.overrides, row.world, job.team.rank(), 0));
  }
  std::vector<RowKey> keys;
  for (const std::string& timing : timings_of(*item.problem, job.options.timing)) {
    row.timing = runs ? timing : "";
    keys.push_back(key_of(row));
  }
  return keys;
}

std::vector<Row> evaluate(Job& job, WorkerPool& pool, const Item& item, uint64_t number) {
  choose_seed(job);
  return Evaluation(job, pool, item, number).run();
}

}  // namespace pkb
