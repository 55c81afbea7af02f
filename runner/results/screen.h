// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while a run goes on: an aligned table on standard output that scripts can read as well (comments
// start with
// '#', columns are separated by spaces, "-" is no value, the free text comes last), and a progress line on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "results/environment.h"
#include "results/row.h"

namespace pkb {

class Screen {
 public:
  struct Settings {
    std::size_t width = 200;         ///< columns a line may take; longer reasons are cut (the files have them whole)
    std::size_t progress_width = 0;  ///< of the progress line on `err`, which then is a terminal; 0: no such line
  };
  /// Widths of the terminals that standard output and standard error are.
  static Settings settings_of_terminal();

  /// Both streams must outlive it.
  Screen(std::ostream& out, std::ostream& err, Settings settings);

  /// Before the first row: which rank drives which device.
  void show_devices(const std::vector<DeviceRecord>& devices);
  /// A remark for the reader ("# ...").
  void note(std::string_view text);
  /// The header of the table. `rows` is how many are expected, `longest_label` the length of the longest label_of a
  /// row.
  void begin(std::size_t rows, std::size_t longest_label);
  /// What is being evaluated now, for the progress line.
  void progress(std::string_view doing);
  /// Flushed at once.
  void show(const Row& row);
  /// Counts by status, geometric means of the speed-ups, and where the files are.
  void finish(const std::filesystem::path& folder);

  /// Takes the progress line away, before something else writes to the terminal.
  void clear_progress();

 private:
  std::ostream& out_;
  std::ostream& err_;
  Settings settings_;
  std::size_t label_width_ = 0, expected_rows_ = 0;
  std::vector<Row> rows_;  ///< without their samples and logs
  std::chrono::steady_clock::time_point start_;
  bool progress_shown_ = false;
};

/// The name in the table: the problem's, and the sample's where there are several ("allreduce/ring").
std::string label_of(std::string_view problem, std::string_view sample);

/// "[3/15] 12 s, about 48 s left: gemm_allreduce default"
std::string progress_text(std::size_t done, std::size_t expected, double elapsed_s, std::string_view doing);

/// One line of at most `width` bytes: line breaks and control characters become spaces, what is too long ends in "...",
/// and no UTF-8 sequence is cut in two.
std::string one_line(std::string_view text, std::size_t width);

}  // namespace pkb
