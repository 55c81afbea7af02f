// SPDX-License-Identifier: Apache-2.0
#include "evaluate/sweep.h"

#include "core/error.h"
#include "core/log.h"
#include "evaluate/program.h"
#include "evaluate/sha256.h"

namespace pkb {

void Reporter::progress(const Item& item) {
  if (screen_) screen_->progress(item.problem->name + " " + item.size);
}

void Reporter::add(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (journal_) pending_.push_back(row);
    if (screen_) screen_->show(row);
  }
  save();
}

void Reporter::save() {
  try {
    if (journal_ && journal_->drop_foreign_lines()) {
      log::error("somebody else wrote rows to " + (journal_->folder() / "results.jsonl").string() +
                 " during the last evaluation; they are removed");
    }
    for (; !pending_.empty(); pending_.pop_front()) journal_->append(pending_.front());
  } catch (const SystemError& error) {
    if (!complained_) log::error(std::string(error.what()) + "; rows are kept until that is possible");
    complained_ = true;
  }
}

std::size_t Reporter::unsaved() {
  save();
  return pending_.size();
}

bool Reporter::holds_all(const std::vector<RowKey>& keys) const {
  for (const RowKey& key : keys) {
    if (!journal_->holds(key)) return false;
  }
  return true;
}

int SweepResult::exit_code() const {
  if (stopped) return kExitStopped;
  if (harness_errors > 0 || unsaved > 0) return kExitHarness;
  return failed > 0 ? kExitFailed : kExitPassed;
}

namespace {

void count(const std::vector<Row>& rows, SweepResult& result) {
  for (const Row& row : rows) {
    if (row.status == "passed") {
      ++result.passed;
    } else if (row.status == "skipped") {
      ++result.skipped;
    } else if (row.status == "harness_error") {
      ++result.harness_errors;
    } else {
      ++result.failed;
    }
  }
}

}  // namespace

SweepResult sweep(Job& job, WorkerPool& pool, const std::vector<Item>& plan, Reporter& reporter,
                  const std::atomic<int>& stop) {
  SweepResult result;
  uint64_t number = 0;
  for (const Item& item : plan) {
    ++number;
    if (!job.team.all(stop == 0)) {
      result.stopped = true;
      break;
    }
    // Only the root knows the journal; its word holds for all.
    const bool done = reporter.may_hold() && reporter.holds_all(row_keys(job, item));
    if (!job.team.all(!done)) continue;
    reporter.progress(item);
    const auto rows = evaluate(job, pool, item, number);
    reporter.add(rows);
    count(rows, result);
  }
  result.unsaved = static_cast<std::size_t>(job.team.maximum(static_cast<double>(reporter.unsaved())));
  return result;
}

}  // namespace pkb
