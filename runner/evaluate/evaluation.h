// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "evaluate/candidate.h"
#include "evaluate/job.h"
#include "results/journal.h"
#include "results/row.h"

namespace pkb {

/// One thing to do: a problem at a size with one sample.
struct Item {
  const Problem* problem = nullptr;
  std::string size;
  Overrides overrides;
  Candidate candidate;
  int repeat = 0;    ///< which pass over the selection
  std::string skip;  ///< why it cannot be done at all (this W is illegal); empty: it can
};

/// The keys of the rows that evaluating this item gives when it passes; for --resume. Not collective.
std::vector<RowKey> row_keys(const Job& job, const Item& item);

/// Collective. Compiles, checks and times one item: one row a timing mode, or one row when it failed before timing.
/// Never throws for what a candidate does. Rows are the same on every rank.
std::vector<Row> evaluate(Job& job, WorkerPool& pool, const Item& item, uint64_t number);

}  // namespace pkb
