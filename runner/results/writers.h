// SPDX-License-Identifier: Apache-2.0
//
// results.csv and results.json, derived from the journal: written whole to a temporary name and renamed, so that a
// reader never sees half a file. docs/results.md is their specification.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/journal.h"

namespace pkb {

/// RFC 4180 with LF line ends. A field is quoted when it holds a comma, a quote, a line break, or a space at an end; no
/// value is an empty field. Numbers are in the shortest form that reads back the same.
std::string to_csv(const std::vector<Row>& rows);
std::string csv_field(std::string_view text);

/// {schema_version, meta, devices, config, earlier_runs, results}. The first four are those of the newest run;
/// earlier_runs holds what a resumed journal has of the runs before. One line a result.
std::string to_json(const JournalContents& journal);

/// Reads the journal of a folder and writes both files into it. Throws SystemError, or UsageError of read_journal.
void write_results(const std::filesystem::path& folder);

}  // namespace pkb
