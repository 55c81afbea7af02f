// SPDX-License-Identifier: Apache-2.0
//
// What --suite, --problem, --domain, --level and --exclude select.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "catalogue/catalogue.h"
#include "catalogue/yaml_fields.h"
#include "core/error.h"

namespace pkb {

namespace {

std::vector<std::string> split_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      std::string word = text.substr(from, comma - from);
      word.erase(0, word.find_first_not_of(' '));
      word.erase(word.find_last_not_of(' ') + 1);
      if (!word.empty()) words.push_back(word);
      from = comma + 1;
    }
  }
  return words;
}

std::optional<int> id_of(std::string_view text) {
  int id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return std::nullopt;
  return id;
}

using Ids = std::set<int>;

Ids ids_where(const Catalogue& catalogue, auto&& holds) {
  Ids ids;
  for (const Problem& problem : catalogue.problems()) {
    if (holds(problem)) ids.insert(problem.id);
  }
  return ids;
}

[[noreturn]] void fail_unknown_id(const Catalogue& catalogue, const std::string& word) {
  std::vector<int> ids;
  for (const Problem& problem : catalogue.problems()) ids.push_back(problem.id);
  throw UsageError(fmt::format("unknown problem {} (there are {})", word, fmt::join(ids, ", ")));
}

/// Ids that one word of --problem or --exclude names.
Ids ids_named(const Catalogue& catalogue, const std::string& word) {
  if (const auto id = id_of(word)) {
    const Ids ids = ids_where(catalogue, [&](const Problem& problem) { return problem.id == *id; });
    if (ids.empty()) fail_unknown_id(catalogue, word);
    return ids;
  }
  const std::size_t dash = word.find('-');
  if (dash != std::string::npos) {
    const auto first = id_of(std::string_view(word).substr(0, dash));
    const auto last = id_of(std::string_view(word).substr(dash + 1));
    if (first && last) {
      const Ids ids =
          ids_where(catalogue, [&](const Problem& problem) { return *first <= problem.id && problem.id <= *last; });
      if (ids.empty()) fail_unknown_id(catalogue, word);
      return ids;
    }
  }
  const Ids ids = ids_where(catalogue, [&](const Problem& problem) {
    return fnmatch(word.c_str(), problem.name.c_str(), 0) == 0 ||
           fnmatch(word.c_str(), problem.folder_name().c_str(), 0) == 0;
  });
  if (!ids.empty()) return ids;
  if (word.find_first_of("*?[") != std::string::npos) {
    throw UsageError(fmt::format("no problem's name matches {}", word));
  }
  std::vector<std::string> valid;
  for (const Problem& problem : catalogue.problems()) valid.push_back(problem.name);
  std::string suggestion = nearest(word, valid);
  if (suggestion.empty()) {
    valid.clear();
    for (const Problem& problem : catalogue.problems()) valid.push_back(problem.folder_name());
    suggestion = nearest(word, valid);
  }
  throw UsageError(suggestion.empty() ? fmt::format("unknown problem {}; --list shows all", word)
                                      : fmt::format("unknown problem {}, did you mean {}?", word, suggestion));
}

Ids ids_of_suite(const Catalogue& catalogue, const std::string& suite) {
  if (catalogue.suites().count(suite) == 0) {
    std::vector<std::string> valid;
    for (const auto& [name, description] : catalogue.suites()) valid.push_back(name);
    throw UsageError(unknown_text("suite", suite, valid));
  }
  return ids_where(catalogue, [&](const Problem& problem) {
    const auto& suites = problem.suites;
    return suite == "all" || problem.domain == suite || std::find(suites.begin(), suites.end(), suite) != suites.end();
  });
}

Ids ids_of_domain(const Catalogue& catalogue, const std::string& domain) {
  Ids ids = ids_where(catalogue, [&](const Problem& problem) { return problem.domain == domain; });
  if (!ids.empty()) return ids;
  std::set<std::string> valid;
  for (const Problem& problem : catalogue.problems()) valid.insert(problem.domain);
  throw UsageError(unknown_text("domain", domain, {valid.begin(), valid.end()}));
}

Ids ids_of_level(const Catalogue& catalogue, int level) {
  Ids ids = ids_where(catalogue, [&](const Problem& problem) { return problem.level == level; });
  if (!ids.empty()) return ids;
  std::set<int> valid;
  for (const Problem& problem : catalogue.problems()) valid.insert(problem.level);
  throw UsageError(fmt::format("no problem is of level {} ({})", level, fmt::join(valid, ", ")));
}

Ids united(const Catalogue& catalogue, const auto& words, auto&& ids_of) {
  Ids all;
  for (const auto& word : words) all.merge(ids_of(catalogue, word));
  return all;
}

void keep_only(Ids& ids, const Ids& wanted) {
  std::erase_if(ids, [&](int id) { return wanted.count(id) == 0; });
}

}  // namespace

std::vector<const Problem*> select(const Catalogue& catalogue, const Selection& selection) {
  const auto suites = split_commas(selection.suites);
  const auto problems = split_commas(selection.problems);
  const auto domains = split_commas(selection.domains);

  Ids ids = united(catalogue, suites, ids_of_suite);
  ids.merge(united(catalogue, problems, ids_named));
  if (suites.empty() && problems.empty()) ids = ids_of_suite(catalogue, "all");
  if (!domains.empty()) keep_only(ids, united(catalogue, domains, ids_of_domain));
  if (!selection.levels.empty()) keep_only(ids, united(catalogue, selection.levels, ids_of_level));
  const Ids excluded = united(catalogue, split_commas(selection.exclude), ids_named);
  std::erase_if(ids, [&](int id) { return excluded.count(id) > 0; });

  if (ids.empty()) throw UsageError("no problem is selected by these options together; --list shows all");
  std::vector<const Problem*> selected;
  for (const Problem& problem : catalogue.problems()) {
    if (ids.count(problem.id) > 0) selected.push_back(&problem);
  }
  return selected;
}

}  // namespace pkb
