// SPDX-License-Identifier: Apache-2.0
//
// `pkb`: what can be done without a job. One function a subcommand.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "core/error.h"
#include "options/options.h"
#include "results/columns.h"
#include "results/environment.h"
#include "results/journal.h"
#include "results/listing.h"
#include "results/screen.h"
#include "results/writers.h"

namespace pkb {
namespace {

Catalogue load_catalogue(const Options& options) {
  if (!options.catalogue.empty()) return Catalogue::load(options.catalogue);
  const auto executable = std::filesystem::read_symlink("/proc/self/exe");
  return Catalogue::load(executable.parent_path().parent_path() / "share/pkb/problems.yaml");
}

void list(const Options& options) {
  show_list(std::cout, load_catalogue(options), options);
}

void show(const Options& options) {
  const Catalogue catalogue = load_catalogue(options);
  const ListingOptions listing = listing_options(catalogue, options);
  Selection selection;
  selection.problems = options.arguments;
  for (const Problem* problem : select(catalogue, selection)) show_problem(std::cout, *problem, listing);
}

void explain_columns(const Options&) {
  for (const Column& column : columns()) {
    std::cout << fmt::format("{:<23} {:<16} {}{}\n", column.name, name_of(column.hint), column.description,
                             column.in_csv ? "" : " (JSON only)");
  }
}

void show_results(const Options& options) {
  const std::filesystem::path folder = options.arguments.front();
  const JournalContents journal = read_journal(folder);
  write_results(folder);

  std::size_t longest = 0;
  for (const Row& row : journal.rows) longest = std::max(longest, label_of(row.problem, row.sample).size());
  Screen screen(std::cout, std::cerr, Screen::settings_of_terminal());
  if (journal.torn) screen.note("the journal's last line is incomplete and has been left out");
  screen.begin(journal.rows.size(), longest);
  for (const Row& row : journal.rows) screen.show(row);
  screen.finish(folder);
}

void show_version(const Options&) {
  std::cout << version_text() << '\n';
}

struct Command {
  const char* name;
  Program program;
  const char* summary;
  void (*run)(const Options&);
};

constexpr Command kCommands[] = {
    {"list", Program::list, "the problems", list},
    {"show", Program::show, "all of one problem", show},
    {"columns", Program::columns, "what is recorded of an evaluation", explain_columns},
    {"results", Program::results, "results.csv and results.json anew from a journal, and its table", show_results},
    {"version", Program::version, "the version and what it was built from", show_version},
};

std::string overview() {
  std::string text = "usage: pkb COMMAND [options]\n\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<9} {}\n", command.name, command.summary);
  return text + "\npkb COMMAND --help tells more. Problems are run by pkb_runner, under mpirun or srun.\n";
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    names.emplace_back(command.name);
  }
  const std::string near = nearest(name, names);
  throw UsageError(fmt::format("unknown command {}; {}", name,
                               near.empty() ? "see pkb --help" : fmt::format("did you mean {}?", near)));
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) throw UsageError("needs a command; see pkb --help");
  std::string name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    std::cout << overview();
    return kExitPassed;
  }
  if (name == "--version") name = "version";
  const Command& command = command_named(name);
  arguments.erase(arguments.begin());
  const Options options = parse_options(command.program, arguments);
  if (options.help) {
    std::cout << help_text(command.program);
  } else {
    command.run(options);
  }
  return kExitPassed;
}

}  // namespace
}  // namespace pkb

int main(int argc, char** argv) {
  try {
    return pkb::run({argv + 1, argv + argc});
  } catch (const pkb::UsageError& error) {
    std::cerr << "pkb: " << error.what() << '\n';
    return pkb::kExitUsage;
  } catch (const std::exception& error) {
    std::cerr << "pkb: " << error.what() << '\n';
    return pkb::kExitHarness;
  }
}
