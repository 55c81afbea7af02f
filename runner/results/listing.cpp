// SPDX-License-Identifier: Apache-2.0
#include "results/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "core/error.h"

namespace pkb {
namespace {

using Texts = std::vector<std::string>;

/// Lines whose columns stand below each other, two spaces between them; the last column is not padded.
Texts aligned(const std::vector<Texts>& lines) {
  std::vector<std::size_t> widths;
  for (const Texts& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  Texts texts;
  for (const Texts& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += i + 1 == line.size() ? line[i] : fmt::format("{:<{}}  ", line[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    texts.push_back(std::move(text));
  }
  return texts;
}

void write_table(std::ostream& out, std::string_view start, const std::vector<Texts>& lines) {
  for (const std::string& line : aligned(lines)) out << start << line << '\n';
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string joined(const Texts& texts, std::string_view separator) {
  return or_dash(fmt::format("{}", fmt::join(texts, separator)));
}

std::string list_of(const std::vector<Expression>& expressions) {
  Texts texts;
  for (const Expression& expression : expressions) texts.push_back(expression.text);
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

Texts size_names(const Problem& problem) {
  Texts names;
  for (const SizeSpec& size : problem.sizes) names.push_back(size.name);
  return names;
}

/// Those of the overrides that mean something to this problem.
Overrides overrides_for(const Problem& problem, const Overrides& all) {
  Overrides mine;
  for (const auto& [name, value] : all) {
    if (std::ranges::find(problem.params, name, [](const auto& param) { return param.first; }) !=
        problem.params.end()) {
      mine.emplace(name, value);
    }
  }
  return mine;
}

std::string quantity(double value, std::string_view unit) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(kPrefixes); value /= 1000) ++prefix;
  return fmt::format("{:.4g} {}{}", value, kPrefixes[prefix], unit);
}

std::string parameters_of(const Problem& problem, const Instance& instance) {
  Texts texts;
  for (const auto& [name, unused] : problem.params) {
    if (const auto found = instance.params.find(name); found != instance.params.end()) {
      texts.push_back(fmt::format("{}={}", name, found->second));
    }
  }
  return joined(texts, " ");
}

/// One line a size: what it computes, and what it costs a rank.
std::vector<Texts> cost_lines(const Problem& problem, const ListingOptions& options) {
  std::vector<Texts> lines;
  const Overrides overrides = overrides_for(problem, options.overrides);
  for (const SizeSpec& size : problem.sizes) {
    if (const auto why = why_illegal(problem, size.name, overrides, options.world); !why.empty()) {
      lines.push_back({size.name, fmt::format("not with W = {}: {}", options.world, why)});
      continue;
    }
    const Instance instance = make_instance(problem, size.name, overrides, options.world, 0, 0);
    const auto phases = phases_of(problem, size.name, overrides, options.world);
    double flops = 0, memory = 0, link = 0;
    for (const PhaseInstance& phase : phases) {
      flops += phase.flops;
      memory += phase.mem_bytes;
      link += options.multicast ? phase.comm_nvls_bytes : phase.comm_bytes;
    }
    Texts line = {size.name, quantity(flops, "FLOP"), "memory " + quantity(memory, "B"), "link " + quantity(link, "B")};
    for (const Profile* profile : options.profiles) {
      const Roofline limit = roofline(phases, *profile, options.multicast);
      line.push_back(fmt::format("{} {:.4g} us ({})", profile->name, limit.seconds * 1e6, limit.bound));
    }
    line.push_back(parameters_of(problem, instance));
    lines.push_back(std::move(line));
  }
  return lines;
}

Texts case_names(const Problem& problem, const ListingOptions& options) {
  Texts names;
  const auto overrides = overrides_for(problem, options.overrides);
  for (const SizeSpec& size : problem.sizes) {
    if (!why_illegal(problem, size.name, overrides, options.world).empty()) continue;
    for (int index : cases_of(problem, size.name, overrides, options.world)) {
      const std::string& name = problem.cases[static_cast<std::size_t>(index)].name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string draw_text(const DrawSpec& draw) {
  if (draw.arguments.empty()) return draw.kind;
  const std::string arguments = list_of(draw.arguments);
  return fmt::format("{}({})", draw.kind, arguments.substr(1, arguments.size() - 2));
}

std::string shape_text(const TensorSpec& tensor) {
  std::string text = list_of(tensor.shape);
  for (const auto& [condition, shape] : tensor.shape_when)
    text += fmt::format(", {} when {}", list_of(shape), condition.text);
  if (!tensor.count.empty()) text += fmt::format(" x {}", tensor.count.text);
  return text;
}

std::string tolerance_text(const ToleranceSpec& tolerance) {
  Texts texts;
  if (!tolerance.atol.empty())
    texts.push_back(fmt::format("atol {}{}", tolerance.atol.text, tolerance.atol_in_rms ? " rms" : ""));
  if (!tolerance.rtol.empty()) texts.push_back("rtol " + tolerance.rtol.text);
  if (!tolerance.frobenius.empty()) texts.push_back("frobenius " + tolerance.frobenius.text);
  return texts.empty() ? "exact" : joined(texts, ", ");
}

std::string conditions_text(const TensorSpec& tensor) {
  Texts texts;
  if (!tensor.present.empty()) texts.push_back("where " + tensor.present.text);
  if (tensor.host) texts.push_back("in host memory");
  if (tensor.dynamic) texts.push_back("rows reported by the candidate");
  if (!tensor.agree.empty()) texts.push_back(fmt::format("{} equal on all ranks", tensor.agree));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<Texts> tensor_lines(const std::vector<TensorSpec>& tensors, bool inputs) {
  std::vector<Texts> lines;
  for (const TensorSpec& tensor : tensors) {
    lines.push_back({tensor.name, std::string(name_of(tensor.dtype)), shape_text(tensor),
                     inputs ? draw_text(tensor.draw) : tolerance_text(tensor.tolerance), conditions_text(tensor)});
  }
  return lines;
}

void write_section(std::ostream& out, std::string_view heading, const std::vector<Texts>& lines) {
  if (lines.empty()) return;
  out << heading << '\n';
  write_table(out, "  ", lines);
}

/// A parameter that some problems have is legal; one that none has is a slip.
void refuse_unknown_overrides(const std::vector<const Problem*>& problems, const Overrides& overrides) {
  Texts known;
  for (const Problem* problem : problems) {
    for (const auto& [name, unused] : problem->params) known.push_back(name);
  }
  for (const auto& [name, unused] : overrides) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = nearest(name, known);
    throw UsageError(fmt::format("no selected problem has a parameter {}{}", name,
                                 near.empty() ? "; pkb list -v shows them" : fmt::format("; did you mean {}?", near)));
  }
}

/// How many problems each resource bounds at size default.
std::string bounds_text(const std::vector<const Problem*>& problems, const Profile& profile,
                        const ListingOptions& options) {
  std::map<std::string, int> counts = {{"link", 0}, {"memory", 0}, {"compute", 0}};
  int all = 0;
  for (const Problem* problem : problems) {
    const Overrides overrides = overrides_for(*problem, options.overrides);
    if (!why_illegal(*problem, "default", overrides, options.world).empty()) continue;
    const auto phases = phases_of(*problem, "default", overrides, options.world);
    ++counts[std::string(roofline(phases, profile, options.multicast).bound)];
    ++all;
  }
  Texts texts;
  for (const char* resource : {"link", "memory", "compute"}) {
    texts.push_back(
        fmt::format("{} by {} ({:.0f} %)", counts[resource], resource, all > 0 ? 100.0 * counts[resource] / all : 0.0));
  }
  return fmt::format("# bound at size default, W = {}, {}: of {} problems {}", options.world, profile.name, all,
                     joined(texts, ", "));
}

}  // namespace

void list_problems(std::ostream& out, const std::vector<const Problem*>& problems, const ListingOptions& options) {
  std::vector<Texts> lines = {{"# id", "name", "suites", "domain", "level", "ranks", "sizes", "title"}};
  for (const Problem* problem : problems) {
    lines.push_back({fmt::format("{:>4}", problem->id), problem->name, joined(problem->suites, ","), problem->domain,
                     std::to_string(problem->level), or_dash(problem->world_text), joined(size_names(*problem), ","),
                     problem->title});
  }
  const Texts texts = aligned(lines);
  out << texts[0] << '\n';
  for (std::size_t i = 0; i < problems.size(); ++i) {
    out << texts[i + 1] << '\n';
    if (!options.verbose) continue;
    write_table(out, "#      ", cost_lines(*problems[i], options));
    out << "#      cases: " << joined(case_names(*problems[i], options), " ") << '\n';
  }
  for (const Profile* profile : options.profiles) {
    if (options.verbose) out << bounds_text(problems, *profile, options) << '\n';
  }
}

void show_problem(std::ostream& out, const Problem& problem, const ListingOptions& options) {
  out << fmt::format("{} {}: {}\n", problem.id, problem.name, problem.title);
  std::vector<Texts> facts = {{"suites", joined(problem.suites, ", ")},
                              {"domain", or_dash(problem.domain)},
                              {"level", std::to_string(problem.level)},
                              {"ranks", or_dash(problem.world_text)},
                              {"folder", "kernels/" + problem.folder}};
  if (!problem.inplace.empty()) facts.push_back({"changes", joined(problem.inplace, ", ")});
  if (!problem.capture.empty()) facts.push_back({"no graph", problem.capture});
  write_table(out, "  ", facts);

  std::vector<Texts> groups, scalars, cases, phases;
  for (const GroupSpec& group : problem.groups)
    groups.push_back({group.name, fmt::format("color {}, key {}", group.color.text, group.key.text)});
  for (const ScalarSpec& scalar : problem.scalars) scalars.push_back({scalar.name, scalar.expression.text});
  for (const CaseSpec& item : problem.cases) {
    cases.push_back({item.name, item.when.empty() ? "always" : "when " + item.when.text, item.why});
  }
  for (const PhaseSpec& phase : problem.phases) {
    phases.push_back({or_dash(phase.name), "FLOP " + or_dash(phase.flops.text), "memory " + or_dash(phase.mem.text),
                      "link " + or_dash(phase.comm.text), phase.why});
  }
  write_section(out, "inputs", tensor_lines(problem.inputs, true));
  write_section(out, "outputs", tensor_lines(problem.outputs, false));
  write_section(out, "scalars", scalars);
  write_section(out, "groups", groups);
  write_section(out, "cases", cases);
  write_section(out, "phases, a rank", phases);
  write_section(out, fmt::format("sizes, a rank of W = {}", options.world), cost_lines(problem, options));
}

ListingOptions listing_options(const Catalogue& catalogue, const Options& options) {
  ListingOptions listing;
  listing.verbose = options.verbose;
  listing.world = options.world;
  listing.multicast = options.multicast;
  listing.overrides = options.overrides;
  if (!options.profile.empty()) {
    listing.profiles = {&catalogue.profile_named(options.profile)};
  } else {
    for (const auto& [name, profile] : catalogue.profiles()) listing.profiles.push_back(&profile);
  }
  return listing;
}

void show_list(std::ostream& out, const Catalogue& catalogue, const Options& options) {
  const auto problems = select(catalogue, options.selection);
  refuse_unknown_overrides(problems, options.overrides);
  list_problems(out, problems, listing_options(catalogue, options));
}

}  // namespace pkb
