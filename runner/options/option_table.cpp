// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "core/error.h"

namespace pkb {
namespace {

using Json = nlohmann::ordered_json;
using Setter = decltype(OptionSpec::set);
using Recorder = decltype(OptionSpec::record);

// ---- reading values

[[noreturn]] void refuse(std::string_view name, std::string_view wanted, std::string_view value) {
  throw UsageError(fmt::format("--{} needs {}, not '{}'", name, wanted, value));
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole_text = error == std::errc{} && end == text.data() + text.size();
  // No NaN and no infinity: from_chars would read both.
  if (!whole_text || !(number <= std::numeric_limits<Number>::max())) return std::nullopt;
  return number;
}

/// The parts between commas. At least one, and none empty.
std::vector<std::string> split(std::string_view name, std::string_view wanted, std::string_view value) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t comma = std::min(value.find(',', start), value.size());
    if (comma == start) refuse(name, wanted, value);
    parts.emplace_back(value.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

std::string chosen(const std::vector<std::string>& choices, const std::string& name, const std::string& value) {
  if (std::ranges::find(choices, value) != choices.end()) return value;
  const std::string near = nearest(value, choices);
  throw UsageError(fmt::format("--{} is one of {}, not '{}'{}", name, fmt::join(choices, ", "), value,
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

// ---- makers of setters

Setter flag(bool Options::*member) {
  return [member](Options& options, const auto&, const auto&) { options.*member = true; };
}

Setter text(std::string Options::*member) {
  return [member](Options& options, const auto& name, const auto& value) {
    if (value.empty()) refuse(name, "a value", value);
    options.*member = value;
  };
}

Setter path(std::filesystem::path Options::*member) {
  return [member](Options& options, const auto& name, const auto& value) {
    if (value.empty()) refuse(name, "a path", value);
    options.*member = value;
  };
}

Setter one_of(std::string Options::*member, std::vector<std::string> choices) {
  return [=](Options& options, const auto& name, const auto& value) { options.*member = chosen(choices, name, value); };
}

template <class Number>
Setter number(Number Options::*member, bool (*legal)(Number), std::string wanted) {
  return [=](Options& options, const auto& name, const auto& value) {
    const auto parsed = parse_number<Number>(value);
    if (!parsed || !legal(*parsed)) refuse(name, wanted, value);
    options.*member = *parsed;
  };
}

Setter names(std::vector<std::string> Selection::*member) {
  return [member](Options& options, const auto& name, const auto& value) {
    for (std::string& part : split(name, "names separated by commas", value)) {
      (options.selection.*member).push_back(std::move(part));
    }
  };
}

// ---- setters of single options

void set_levels(Options& options, const std::string& name, const std::string& value) {
  constexpr std::string_view kWanted = "levels such as 2, 1,3 or 1-3";
  for (const std::string& part : split(name, kWanted, value)) {
    const auto dash = part.find('-');
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 99) refuse(name, kWanted, part);
    for (int level = *first; level <= *last; ++level) options.selection.levels.push_back(level);
  }
}

void set_parameters(Options& options, const std::string& name, const std::string& value) {
  constexpr std::string_view kWanted = "PARAMETER=NUMBER";
  for (const std::string& part : split(name, kWanted, value)) {
    const auto equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) refuse(name, kWanted, part);
    const auto number = parse_number<double>(std::string_view(part).substr(equals + 1));
    if (!number) refuse(name, kWanted, part);
    options.overrides[part.substr(0, equals)] = *number;
  }
}

void set_device(Options& options, const std::string& name, const std::string& value) {
  const std::string device = chosen({"auto", "cuda", "host"}, name, value);
  options.device.reset();
  if (device == "cuda") options.device = DeviceKind::cuda;
  if (device == "host") options.device = DeviceKind::host;
}

void set_timing(Options& options, const std::string& name, const std::string& value) {
  for (const std::string& part : split(name, "stream, isolated or graph", value)) {
    const std::string mode = chosen({"stream", "isolated", "graph"}, name, part);
    if (std::ranges::find(options.timing, mode) == options.timing.end()) options.timing.push_back(mode);
  }
}

// ---- records

template <class Value>
Recorder value_of(Value Options::*member) {
  return [member](const Options& options) { return Json(options.*member); };
}

Recorder list_of(std::vector<std::string> Selection::*member) {
  return [member](const Options& options) { return Json(options.selection.*member); };
}

Recorder text_of(std::string Options::*member) {
  return [member](const Options& options) {
    const std::string& value = options.*member;
    return value.empty() ? Json() : Json(value);
  };
}

Json device_record(const Options& options) {
  if (!options.device) return "auto";
  return *options.device == DeviceKind::cuda ? "cuda" : "host";
}

// ---- the table

constexpr unsigned operator|(Program a, Program b) {
  return static_cast<unsigned>(a) | static_cast<unsigned>(b);
}
constexpr unsigned operator|(unsigned a, Program b) {
  return a | static_cast<unsigned>(b);
}
constexpr unsigned kRunner = static_cast<unsigned>(Program::runner);
constexpr unsigned kList = static_cast<unsigned>(Program::list);
constexpr unsigned kSelecting = Program::runner | Program::list;
constexpr unsigned kCatalogue = Program::runner | Program::list | Program::show;
constexpr unsigned kTools = Program::list | Program::show | Program::columns | Program::results | Program::version;
constexpr unsigned kAll = kTools | Program::runner;

void add_selection(std::vector<OptionSpec>& table) {
  constexpr auto kGroup = "Selection (all problems when nothing is selected)";
  const auto add = [&](auto... parts) { table.push_back({kGroup, parts...}); };
  add(kSelecting, "suite", '\0', "NAME,...", "suites, such as tp, collective or all; see --list",
      names(&Selection::suites), list_of(&Selection::suites));
  add(kSelecting, "problem", '\0', "P,...", "ids (13), names (gemm_allreduce), ranges (1-8), patterns (*gemm*)",
      names(&Selection::problems), list_of(&Selection::problems));
  add(kSelecting, "level", '\0', "N,...", "levels, also ranges (1-2)", set_levels,
      [](const Options& options) { return Json(options.selection.levels); });
  add(kSelecting, "domain", '\0', "NAME,...", "domains, such as llm or moe", names(&Selection::domains),
      list_of(&Selection::domains));
  add(kSelecting, "exclude", '\0', "P,...", "leaves problems out; as --problem", names(&Selection::exclude),
      list_of(&Selection::exclude));
  add(kRunner, "size", '\0', "NAME",
      "smoke, default, large or another preset of the problem; when not given, default on "
      "cuda and smoke on host",
      text(&Options::size), text_of(&Options::size));
  add(kCatalogue, "set", '\0', "K=V,...", "overrides parameters of the problems: --set M=4096,N=512", set_parameters,
      [](const Options& options) { return Json(options.overrides); });
}

void add_device(std::vector<OptionSpec>& table, const Options& defaults) {
  constexpr auto kGroup = "Device and candidate";
  const auto add = [&](auto... parts) { table.push_back({kGroup, parts...}); };
  add(kRunner, "device", '\0', "KIND",
      "auto, cuda, or host (candidates run on CPU cores); auto is cuda when every rank "
      "can have a GPU of its own, else host (default auto)",
      set_device, device_record);
  add(kRunner, "candidate", '\0', "PATH",
      fmt::format("what is judged: a folder of NN_name/ folders in which every .cu or "
                  ".so is a sample, or one file together with one --problem; shipped: the ones that come with pkb; "
                  "none: the references alone; control:NAME,... or control:all: answers that must be found wrong, made "
                  "by the trusted side (default {})",
                  defaults.candidate),
      text(&Options::candidate), value_of(&Options::candidate));
  add(kRunner, "profile", '\0', "NAME",
      "hardware profile of the roofline, such as H200; when not given, by the device's name", text(&Options::profile),
      text_of(&Options::profile));
  add(kList | Program::show, "profile", '\0', "NAME",
      "hardware profile of the roofline, such as H200 (default: all of them)", text(&Options::profile), nullptr);
  add(kRunner, "multicast", '\0', nullptr,
      "uses NVLink multicast where the device offers it; the roofline then counts "
      "on it",
      flag(&Options::multicast), value_of(&Options::multicast));
  add(kList | Program::show, "world", '\0', "W",
      fmt::format("number of ranks the costs are computed for (default {})", defaults.world),
      number<int>(
          &Options::world, [](int n) { return n >= 1; }, "a whole number of at least 1"),
      nullptr);
}

void add_protocol(std::vector<OptionSpec>& table, const Options& defaults) {
  constexpr auto kGroup = "Protocol";
  const auto add = [&](auto... parts) { table.push_back({kGroup, parts...}); };
  const std::string positive = "a whole number of at least 1", natural = "a whole number of at least 0";
  add(kRunner, "trials", '\0', "N",
      fmt::format("correctness trials, each on fresh inputs; at least one a case of the "
                  "problem (default {})",
                  defaults.trials),
      number<int>(
          &Options::trials, [](int n) { return n >= 1; }, positive),
      value_of(&Options::trials));
  add(kRunner, "warmup", '\0', "N", fmt::format("calls before the timed ones (default {})", defaults.warmup),
      number<int>(
          &Options::warmup, [](int n) { return n >= 0; }, natural),
      value_of(&Options::warmup));
  add(kRunner, "iterations", '\0', "N", fmt::format("timed calls (default {})", defaults.iterations),
      number<int>(
          &Options::iterations, [](int n) { return n >= 1; }, positive),
      value_of(&Options::iterations));
  add(kRunner, "time-budget", '\0', "S",
      fmt::format("seconds a side and mode may take; slow problems get fewer calls, but "
                  "10 + 10; 0: no budget (default {})",
                  defaults.time_budget_s),
      number<double>(
          &Options::time_budget_s, [](double s) { return s >= 0; }, "seconds, 0 or more"),
      value_of(&Options::time_budget_s));
  add(kRunner, "timing", '\0', "MODE,...",
      "stream: back to back; isolated: each call alone with a cold L2; graph: captured "
      "and replayed (default stream)",
      set_timing, value_of(&Options::timing));
  add(kRunner, "repeat", '\0', "N",
      fmt::format("passes over the whole selection, one after the other, each with rows of its own (default {})",
                  defaults.repeat),
      number<int>(
          &Options::repeat, [](int n) { return n >= 1; }, positive),
      value_of(&Options::repeat));
  add(kRunner, "io", '\0', "KIND",
      fmt::format("where inputs and outputs lie: private memory, or symmetric memory that peers "
                  "can address (default {})",
                  defaults.io),
      one_of(&Options::io, {"private", "symmetric"}), value_of(&Options::io));
  add(kRunner, "seed", '\0', "N",
      "of all inputs, to repeat an evaluation whose row names it (default: a new one for each evaluation, which no "
      "candidate can know)",
      number<uint64_t>(
          &Options::seed, [](uint64_t n) { return n >= 1; }, positive),
      value_of(&Options::seed));
  add(kRunner, "skew", '\0', nullptr,
      "delays ranks at random before the calls of every trial, not of every second one, so that a missing barrier "
      "shows",
      flag(&Options::skew), value_of(&Options::skew));
  add(kRunner, "timeout", '\0', "S",
      fmt::format("seconds a call of a candidate may take (default {})", defaults.timeout_s),
      number<double>(
          &Options::timeout_s, [](double s) { return s > 0; }, "seconds, more than 0"),
      value_of(&Options::timeout_s));
}

void add_output(std::vector<OptionSpec>& table) {
  constexpr auto kGroup = "Output";
  const auto add = [&](auto... parts) { table.push_back({kGroup, parts...}); };
  add(kRunner, "out", '\0', "DIR", "a new folder for the results (default pkb-results-<UTC time>)", path(&Options::out),
      nullptr);
  add(kRunner, "resume", '\0', "DIR", "goes on with the run whose results are in DIR", path(&Options::resume), nullptr);
  add(kRunner, "dump", '\0', "DIR",
      "writes the first call of every trial, a file a rank with inputs, expected and actual outputs that Python's "
      "torch.load opens, into DIR, a new or empty folder (any folder with --resume)",
      path(&Options::dump), nullptr);
  add(kRunner, "list", '\0', nullptr, "lists what is selected, and ends", flag(&Options::list), nullptr);
  add(kRunner, "dry-run", '\0', nullptr, "shows what would be run, and ends", flag(&Options::dry_run), nullptr);
  add(kRunner, "verbose", 'v', nullptr, "says more, on standard error", flag(&Options::verbose), nullptr);
  add(kList, "verbose", 'v', nullptr, "with sizes, cases and costs", flag(&Options::verbose), nullptr);
}

void add_misc(std::vector<OptionSpec>& table) {
  constexpr auto kGroup = "Other";
  const auto add = [&](auto... parts) { table.push_back({kGroup, parts...}); };
  add(kCatalogue, "catalogue", '\0', "FILE", "another problems.yaml", path(&Options::catalogue), nullptr);
  add(kRunner, "version", '\0', nullptr, "shows the version, and ends", flag(&Options::version), nullptr);
  add(kAll, "help", 'h', nullptr, "shows this, and ends", flag(&Options::help), nullptr);
}

}  // namespace

const std::vector<OptionSpec>& option_table() {
  static const std::vector<OptionSpec> table = [] {
    const Options defaults;
    std::vector<OptionSpec> specs;
    add_selection(specs);
    add_device(specs, defaults);
    add_protocol(specs, defaults);
    add_output(specs);
    add_misc(specs);
    return specs;
  }();
  return table;
}

}  // namespace pkb
