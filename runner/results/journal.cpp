// SPDX-License-Identifier: Apache-2.0
#include "results/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "results/environment.h"
#include "results/files.h"

namespace pkb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRowsFile = "results.jsonl";
constexpr const char* kRunsFile = "runs.jsonl";

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw UsageError(fmt::format("cannot read {}: {}", file.string(), std::generic_category().message(errno)));
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Lines {
  std::vector<OrderedJson> values;
  std::size_t complete_bytes = 0;  ///< up to and with the last newline
  bool torn = false;
};

/// A line counts when its newline is there: it was written last.
Lines read_lines(const fs::path& file) {
  const std::string text = read_file(file);
  Lines lines;
  int number = 0;
  for (std::size_t end; (end = text.find('\n', lines.complete_bytes)) != std::string::npos;) {
    const auto line = std::string_view(text).substr(lines.complete_bytes, end - lines.complete_bytes);
    lines.complete_bytes = end + 1;
    ++number;
    if (line.empty()) continue;
    try {
      lines.values.push_back(OrderedJson::parse(line));
    } catch (const std::exception& error) {
      throw UsageError(
          fmt::format("{}:{}: not JSON ({}); remove the line to use the others", file.string(), number, error.what()));
    }
  }
  lines.torn = lines.complete_bytes != text.size();
  return lines;
}

std::vector<Row> newest_by_key(const std::vector<OrderedJson>& records, const fs::path& file) {
  std::vector<Row> rows;
  std::map<RowKey, std::size_t> place;
  for (std::size_t i = 0; i < records.size(); ++i) {
    Row row;
    try {
      row = from_record(records[i]);
    } catch (const Error& error) {
      throw UsageError(
          fmt::format("{}: row {}: {}; remove the line to use the others", file.string(), i + 1, error.what()));
    }
    const auto [found, is_new] = place.try_emplace(key_of(row), rows.size());
    if (is_new) {
      rows.push_back(std::move(row));
    } else {
      rows[found->second] = std::move(row);
    }
  }
  return rows;
}

int open_for_append(const fs::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
  if (descriptor < 0 && errno != EEXIST) {
    throw UsageError(fmt::format("cannot write to {}: {}; give another folder to --out", file.string(),
                                 std::generic_category().message(errno)));
  }
  return descriptor;
}

[[noreturn]] void refuse_folder_in_use(const fs::path& folder) {
  throw UsageError(
      fmt::format("{} already holds results; give another folder to --out, or continue that run with --resume {}",
                  folder.string(), folder.string()));
}

/// A file system without locks (some network mounts) is used without one.
void lock(int descriptor, const fs::path& folder) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw UsageError(fmt::format("another job is writing to {}; wait for it, or give another folder", folder.string()));
  }
}

int64_t size_of_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? status.st_size : 0;
}

void cut_torn_line(const fs::path& file) {
  const Lines lines = read_lines(file);
  if (lines.torn && ::truncate(file.c_str(), static_cast<off_t>(lines.complete_bytes)) != 0) {
    throw SystemError(fmt::format("cannot cut the incomplete last line of {}", file.string()), errno);
  }
}

}  // namespace

RowKey key_of(const Row& row) {
  return {.problem_id = row.problem_id,
          .repeat = row.repeat,
          .candidate_sha256 = row.candidate_sha256,
          .sample = row.sample,
          .size = row.size,
          .params = row.params,
          .world = row.world,
          .device = row.device,
          .io = row.io,
          .timing = row.timing};
}

bool stands(const Row& row) {
  return row.status != "harness_error";
}

std::string to_line(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

JournalContents read_journal(const fs::path& folder) {
  const fs::path rows_file = folder / kRowsFile, runs_file = folder / kRunsFile;
  if (!fs::exists(rows_file))
    throw UsageError(fmt::format("{} holds no results ({} is missing)", folder.string(), kRowsFile));
  const Lines rows = read_lines(rows_file);
  const Lines runs = fs::exists(runs_file) ? read_lines(runs_file) : Lines{};
  return {.runs = runs.values, .rows = newest_by_key(rows.values, rows_file), .torn = rows.torn || runs.torn};
}

fs::path default_folder() {
  return "pkb-results-" + utc_now_compact();
}

Journal Journal::create(const fs::path& wanted) {
  const fs::path folder = wanted.empty() ? default_folder() : wanted;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  for (const char* name : {kRowsFile, kRunsFile, "results.csv", "results.json"}) {
    if (fs::exists(folder / name)) refuse_folder_in_use(folder);
  }
  const int rows = open_for_append(folder / kRowsFile, O_CREAT | O_EXCL);
  if (rows < 0) refuse_folder_in_use(folder);  // another job was faster
  Journal journal(folder, rows);
  lock(rows, folder);
  journal.runs_ = open_for_append(folder / kRunsFile, O_CREAT);
  sync_folder(folder);
  return journal;
}

Journal Journal::resume(const fs::path& folder) {
  const fs::path rows_file = folder / kRowsFile;
  if (!fs::exists(rows_file)) {
    throw UsageError(fmt::format("{} holds no results to resume ({} is missing); start a run with --out {}",
                                 folder.string(), kRowsFile, folder.string()));
  }
  Journal journal(folder, open_for_append(rows_file, 0));
  lock(journal.rows_, folder);
  journal.runs_ = open_for_append(folder / kRunsFile, O_CREAT);
  cut_torn_line(rows_file);
  cut_torn_line(folder / kRunsFile);
  journal.earlier_ = read_journal(folder).rows;
  journal.bytes_ = size_of_file(journal.rows_);
  return journal;
}

Journal::Journal(fs::path folder, int rows) : folder_(std::move(folder)), rows_(rows) {}

Journal::~Journal() {
  if (rows_ >= 0) ::close(rows_);
  if (runs_ >= 0) ::close(runs_);
}

Journal::Journal(Journal&& other) noexcept
    : folder_(std::move(other.folder_)),
      rows_(std::exchange(other.rows_, -1)),
      runs_(std::exchange(other.runs_, -1)),
      bytes_(other.bytes_),
      earlier_(std::move(other.earlier_)) {}

bool Journal::holds(const RowKey& key) const {
  return std::ranges::any_of(earlier_, [&](const Row& row) { return stands(row) && key_of(row) == key; });
}

void Journal::begin(const OrderedJson& run) {
  write_and_sync(runs_, to_line(run) + '\n', folder_ / kRunsFile);
}

void Journal::append(const Row& row) {
  const std::string line = to_line(to_record(row)) + '\n';
  write_and_sync(rows_, line, folder_ / kRowsFile);
  bytes_ += static_cast<int64_t>(line.size());
}

bool Journal::drop_foreign_lines() {
  if (size_of_file(rows_) <= bytes_) return false;
  if (::ftruncate(rows_, bytes_) != 0)
    throw SystemError(fmt::format("cannot restore {}", (folder_ / kRowsFile).string()), errno);
  return true;
}

}  // namespace pkb
