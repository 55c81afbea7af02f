// SPDX-License-Identifier: Apache-2.0
//
// The journal of a run, the one record everything else is derived from. A folder holds
//   results.jsonl   one line a row, all columns, written and synced as each evaluation ends
//   runs.jsonl      one line each time a job was started into this folder: meta, devices, config (environment.h)
// A killed job loses the row in flight and no more.
#pragma once

#include <compare>
#include <filesystem>
#include <string>
#include <vector>

#include "results/columns.h"

namespace pkb {

/// What makes two rows the same evaluation.
struct RowKey {
  int problem_id = 0, repeat = 0;
  std::string candidate_sha256, sample, size, params;
  int world = 0;
  std::string device, io, timing;
  auto operator<=>(const RowKey&) const = default;
};
RowKey key_of(const Row& row);

/// False for rows that say nothing about the candidate (harness_error): a resumed run evaluates them again.
bool stands(const Row& row);

struct JournalContents {
  std::vector<OrderedJson> runs;  ///< oldest first
  std::vector<Row> rows;          ///< one a key, the newest, at the place of the first
  bool torn = false;              ///< the last line of a file was incomplete and has been left out
};
/// Reads a folder. Throws UsageError when it holds no journal or a line in its middle is no row (with file and line
/// number).
JournalContents read_journal(const std::filesystem::path& folder);

/// "pkb-results-20260131T235959Z": where a run writes to when it is not told. Ask on one rank; others may see another
/// second.
std::filesystem::path default_folder();

/// Appends to the journal of a folder. One object a folder and job, on the rank that reports; it holds a lock on the
/// folder.
class Journal {
 public:
  /// Makes the folder (empty: default_folder()), and its parents. Throws UsageError when it holds results already.
  static Journal create(const std::filesystem::path& wanted);
  /// Continues what `create` began; an incomplete last line is cut off. Throws UsageError when there is nothing to
  /// continue or another job writes there.
  static Journal resume(const std::filesystem::path& folder);

  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<Row>& earlier() const { return earlier_; }  ///< rows of the jobs before, when resumed
  bool holds(const RowKey& key) const;                          ///< an earlier row that stands

  /// On disk when they return. Throw SystemError.
  void begin(const OrderedJson& run);
  void append(const Row& row);
  /// Cuts off what somebody else has appended since (a candidate shares this user's rights). True: there was something.
  bool drop_foreign_lines();

 private:
  Journal(std::filesystem::path folder, int rows);
  std::filesystem::path folder_;
  int rows_ = -1, runs_ = -1;  ///< descriptors
  int64_t bytes_ = 0;          ///< of rows, as this job and those before it left them
  std::vector<Row> earlier_;
};

/// One line of JSON, without the newline. Bytes that are not UTF-8 (a candidate's output) are replaced by U+FFFD.
std::string to_line(const OrderedJson& json);

}  // namespace pkb
