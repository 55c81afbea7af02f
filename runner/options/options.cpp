// SPDX-License-Identifier: Apache-2.0
#include "options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "options/option_table.h"

namespace pkb {
namespace {

namespace po = boost::program_options;

constexpr unsigned kHelpWidth = 100;

struct Usage {
  Program program;
  const char* line;
  const char* summary;
  std::size_t arguments;  ///< how many it takes besides options
  const char* argument_name;
};

const Usage& usage_of(Program program) {
  static const std::vector<Usage> usages = {
      {Program::runner, "mpirun -np N pkb_runner [options]",
       "Judges kernels that span several GPUs: correct or not, and how fast next to PyTorch + NCCL.", 0, ""},
      {Program::list, "pkb list [options]", "Lists problems.", 0, ""},
      {Program::show, "pkb show PROBLEM [options]", "Shows all of one problem: parameters, tensors, cases, costs.", 1,
       "a problem, such as 13 or gemm_allreduce"},
      {Program::columns, "pkb columns", "Explains the columns of results.csv and the keys of results.json.", 0, ""},
      {Program::results, "pkb results DIR",
       "Makes results.csv and results.json anew from the journal in DIR, and shows the table.", 1,
       "a folder of results"},
      {Program::version, "pkb version", "Shows the version.", 0, ""},
  };
  return *std::ranges::find(usages, program, &Usage::program);
}

/// The options of one program, as Boost wants them: one description a group.
std::vector<po::options_description> descriptions_of(Program program) {
  std::vector<po::options_description> groups;
  std::string_view group;
  for (const OptionSpec& spec : option_table()) {
    if ((spec.programs & static_cast<unsigned>(program)) == 0) continue;
    if (group != spec.group) groups.emplace_back(spec.group, kHelpWidth, kHelpWidth / 2);
    group = spec.group;
    const std::string name = spec.letter == 0 ? spec.name : fmt::format("{},{}", spec.name, spec.letter);
    if (spec.argument == nullptr) {
      groups.back().add_options()(name.c_str(), spec.help.c_str());
    } else {
      groups.back().add_options()(name.c_str(), po::value<std::string>()->value_name(spec.argument), spec.help.c_str());
    }
  }
  return groups;
}

const OptionSpec& spec_named(Program program, std::string_view name) {
  return *std::ranges::find_if(option_table(), [&](const OptionSpec& spec) {
    return (spec.programs & static_cast<unsigned>(program)) != 0 && spec.name == name;
  });
}

[[noreturn]] void refuse_unknown(Program program, const std::string& token) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table()) {
    if ((spec.programs & static_cast<unsigned>(program)) != 0) known.emplace_back(spec.name);
  }
  const std::string option = token.substr(0, token.find('='));
  const std::string near = nearest(option.substr(std::min(option.find_first_not_of('-'), option.size())), known);
  throw UsageError(fmt::format("unknown option {}; {}", option,
                               near.empty() ? "see --help" : fmt::format("did you mean --{}?", near)));
}

[[noreturn]] void refuse_syntax(const po::invalid_command_line_syntax& error) {
  using Kind = po::invalid_syntax;
  const std::string name = error.get_option_name();
  if (error.kind() == Kind::missing_parameter || error.kind() == Kind::empty_adjacent_parameter) {
    throw UsageError(fmt::format("{} needs a value; see --help", name));
  }
  if (error.kind() == Kind::extra_parameter) throw UsageError(fmt::format("{} takes no value", name));
  throw UsageError(fmt::format("{}; see --help", error.what()));
}

std::vector<po::option> tokens_of(Program program, const std::vector<std::string>& arguments) {
  po::options_description all;
  for (const auto& group : descriptions_of(program)) all.add(group);
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing &
                    ~po::command_line_style::allow_sticky;
  try {
    return po::command_line_parser(arguments).options(all).style(style).run().options;
  } catch (const po::unknown_option& error) {
    refuse_unknown(program, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    refuse_syntax(error);
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}; see --help", error.what()));
  }
}

/// Boost takes whatever follows, also the next option: "--out --list".
bool swallowed_an_option(const po::option& token) {
  return token.original_tokens.size() == 2 && token.original_tokens[1].starts_with("--");
}

void check_arguments(Program program, const Options& options) {
  const Usage& usage = usage_of(program);
  if (options.arguments.size() > usage.arguments) {
    throw UsageError(
        fmt::format("unexpected argument '{}'; usage: {}", options.arguments[usage.arguments], usage.line));
  }
  if (options.arguments.size() < usage.arguments) {
    throw UsageError(fmt::format("needs {}; usage: {}", usage.argument_name, usage.line));
  }
}

void check_together(const Options& options) {
  if (!options.out.empty() && !options.resume.empty()) {
    throw UsageError("--out and --resume exclude each other: a resumed run writes to its own folder");
  }
}

}  // namespace

Options parse_options(Program program, const std::vector<std::string>& arguments) {
  Options options;
  const std::vector<std::string> default_timing = std::exchange(options.timing, {});
  for (const po::option& token : tokens_of(program, arguments)) {
    if (swallowed_an_option(token)) throw UsageError(fmt::format("--{} needs a value; see --help", token.string_key));
    if (token.string_key.empty()) {
      options.arguments.insert(options.arguments.end(), token.value.begin(), token.value.end());
    } else {
      const OptionSpec& spec = spec_named(program, token.string_key);
      spec.set(options, spec.name, token.value.empty() ? "" : token.value.front());
    }
  }
  if (options.timing.empty()) options.timing = default_timing;
  if (options.help || options.version) return options;
  check_arguments(program, options);
  check_together(options);
  return options;
}

std::string help_text(Program program) {
  const Usage& usage = usage_of(program);
  std::ostringstream text;
  text << "usage: " << usage.line << "\n\n" << usage.summary << "\n";
  for (const auto& group : descriptions_of(program)) text << '\n' << group;
  return std::move(text).str();
}

nlohmann::ordered_json to_record(const Options& options) {
  auto record = nlohmann::ordered_json::object();
  for (const OptionSpec& spec : option_table()) {
    if (!spec.record) continue;
    std::string name = spec.name;
    std::ranges::replace(name, '-', '_');
    record[name] = spec.record(options);
  }
  return record;
}

}  // namespace pkb
