// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include "evaluate/evaluation.h"
#include "results/journal.h"
#include "results/screen.h"

namespace pkb {

/// Where rows go: journal and screen on the root, nowhere on other ranks.
class Reporter {
 public:
  /// `journal` and `screen` are null on ranks that do not report.
  Reporter(Journal* journal, Screen* screen) : journal_(journal), screen_(screen) {}
  void progress(const Item& item);
  /// Rows that cannot be written now (a full disk) are kept, and written when that is possible again.
  void add(const std::vector<Row>& rows);
  std::size_t unsaved();  ///< rows that still cannot be written, after one more attempt
  /// Rows of an earlier run that need not be made again?
  bool may_hold() const { return journal_ && !journal_->earlier().empty(); }
  bool holds_all(const std::vector<RowKey>& keys) const;

 private:
  void save();
  Journal* journal_;
  Screen* screen_;
  std::deque<Row> pending_;
  bool complained_ = false;
};

struct SweepResult {
  int passed = 0, failed = 0, skipped = 0, harness_errors = 0;
  std::size_t unsaved = 0;  ///< rows that are not in the journal
  bool stopped = false;     ///< by a signal
  int exit_code() const;
};

/// Collective. Evaluates the plan in order; an item that an earlier run of the same journal has done is passed over.
/// Ends early when `stop` becomes non-zero on any rank.
SweepResult sweep(Job& job, WorkerPool& pool, const std::vector<Item>& plan, Reporter& reporter,
                  const std::atomic<int>& stop);

}  // namespace pkb
