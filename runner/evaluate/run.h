// SPDX-License-Identifier: Apache-2.0
//
// One run of pkb_runner, step by step: what main.cpp names.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "core/error.h"
#include "device/device.h"
#include "evaluate/plan.h"
#include "evaluate/preflight.h"
#include "evaluate/sweep.h"
#include "options/options.h"
#include "results/environment.h"
#include "results/journal.h"
#include "results/screen.h"

namespace pkb {

/// --help, --version and --list: true when that was all. Prints on the root.
bool answer_without_running(const Options& options, Team& team);

/// Ends the program for an error that all ranks came upon, or aborts the job when this rank is alone with it. The text
/// is printed once.
int leave(Team& team, ExitCode code, const std::string& text);

class Run {
 public:
  /// Collective. Loads the catalogue and finds a device for every rank; shows the map of ranks.
  Run(const Options& options, Team& team, std::vector<std::string> command_line);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void plan();  ///< and shows it, with --dry-run
  SweepResult execute();
  /// The root writes results.csv and results.json and the last lines of the table.
  void report(const SweepResult& result);

 private:
  bool is_root() const { return team_.is_root(); }
  void show_plan() const;
  void open_journal();
  void make_dump_folder();
  RunRecord record() const;

  const Options& options_;
  const std::vector<std::string> command_line_;
  Team& team_;
  Resources resources_;
  Catalogue catalogue_;
  Placement placement_;
  std::string name_prefix_;
  std::unique_ptr<Device> device_;
  std::vector<DeviceFacts> facts_;
  const Profile* profile_ = nullptr;
  std::vector<Item> plan_;
  std::filesystem::path folder_;
  std::optional<Screen> screen_;
  std::optional<Journal> journal_;
  std::unique_ptr<ReferenceSide> reference_;
  Watchdog watchdog_;
};

}  // namespace pkb
