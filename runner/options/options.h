// SPDX-License-Identifier: Apache-2.0
//
// The command lines of pkb_runner and of the subcommands of pkb. One table (options.cpp) holds every option: what
// parses it, its help, and how it is recorded. Parsing prints nothing and ends nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "device/device.h"

namespace pkb {

struct Options {
  // Selection.
  Selection selection;  ///< --suite --problem --level --domain --exclude; empty: every problem
  std::string size;     ///< empty: `default` on cuda, `smoke` on host
  Overrides overrides;  ///< --set, by parameter

  // Device and candidate.
  std::optional<DeviceKind> device;   ///< none: auto (cuda when every rank can have a GPU of its own, else host)
  std::string candidate = "shipped";  ///< shipped, none, or a path
  std::string profile;                ///< hardware profile; empty: by the device's name
  bool multicast = false;             ///< use NVLink multicast where the device offers it

  // Protocol.
  int trials = 5;                                ///< >= 1
  int warmup = 500;                              ///< calls, >= 0
  int iterations = 100;                          ///< calls, >= 1
  double time_budget_s = 2;                      ///< a side and mode; 0: none
  std::vector<std::string> timing = {"stream"};  ///< of stream, isolated, graph; no repetitions
  int repeat = 1;                                ///< passes over the whole selection, >= 1
  std::string io = "private";                    ///< private, symmetric
  uint64_t seed = 0;                             ///< 0: a new one for each evaluation
  double timeout_s = 60;                         ///< of one call, > 0
  bool skew = false;                             ///< random delays of single ranks before calls

  // Output.
  std::filesystem::path out;     ///< empty: default_folder(), asked by the reporting rank alone
  std::filesystem::path resume;  ///< empty: not asked for; excludes `out`
  std::filesystem::path dump;    ///< empty: not asked for
  bool list = false, dry_run = false, verbose = false;

  // Misc.
  std::filesystem::path catalogue;     ///< empty: the one that comes with the program
  int world = 4;                       ///< pkb list and show: the W that costs are computed for, >= 1
  bool version = false, help = false;  ///< with these the rest is not checked
  std::vector<std::string> arguments;  ///< pkb show and results: what is shown
};

/// Programs with a command line of their own.
enum class Program : unsigned { runner = 1, list = 2, show = 4, columns = 8, results = 16, version = 32 };

/// `arguments` are those after the program's (and the subcommand's) name. Throws UsageError in one line, with the
/// nearest valid name where a name is unknown: "unknown option --problm; did you mean --problem?". A single-valued
/// option given twice: the last one counts, so that wrappers can give defaults. Lists are split at commas and may be
/// given several times.
Options parse_options(Program program, const std::vector<std::string>& arguments);

/// At most 100 columns wide, ends with a newline.
std::string help_text(Program program);

/// The options that influence results as JSON, by option name with underscores: `config` in results.json.
nlohmann::ordered_json to_record(const Options& options);

}  // namespace pkb
