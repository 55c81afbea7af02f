// SPDX-License-Identifier: Apache-2.0
#include "catalogue/catalogue.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "catalogue/load.h"
#include "catalogue/yaml_fields.h"
#include "core/error.h"

namespace pkb {

namespace {

constexpr int64_t kSchemaVersion = 1;

YAML::Node read(const std::filesystem::path& path, const Place& place) {
  try {
    return YAML::LoadFile(path.string());
  } catch (const YAML::BadFile&) {
    throw UsageError(fmt::format("cannot read the catalogue {}", path.string()));
  } catch (const YAML::ParserException& error) {
    place.fail(error.mark.line + 1, error.msg);
  }
}

double positive(const Fields& fields, std::string_view key) {
  const double value = fields.number(key);
  if (value <= 0) fields.place().fail(fields.line(key), fmt::format("`{}` must be positive", key));
  return value;
}

Profile parse_profile(const Entry& entry, const Place& file) {
  const Fields fields(entry.value, file.inside("profile " + entry.key),
                      {"match", "memory_bandwidth", "link_bandwidth", "l2_bytes", "peak"});
  Profile profile;
  profile.name = entry.key;
  profile.line = entry.line;
  profile.matches = fields.texts("match");
  profile.memory_bandwidth = positive(fields, "memory_bandwidth");
  profile.link_bandwidth = positive(fields, "link_bandwidth");
  profile.l2_bytes = static_cast<int64_t>(positive(fields, "l2_bytes"));
  fields.at("peak");
  for (const Entry& peak : fields.entries("peak")) {
    profile.peak[peak.key] = number_of(peak.value, fields.place(), peak.key);
    if (profile.peak[peak.key] <= 0) fields.place().fail(peak.line, fmt::format("`{}` must be positive", peak.key));
  }
  return profile;
}

void require_distinct(const std::vector<Problem>& problems, const Problem& added, const Place& file) {
  const Place place = file.inside(fmt::format("problem {}", added.id));
  for (const Problem& other : problems) {
    if (other.id == added.id) place.fail(added.line, fmt::format("the id is taken (line {})", other.line));
    if (other.name == added.name) {
      place.fail(added.line,
                 fmt::format("the name {} is taken by problem {} (line {})", added.name, other.id, other.line));
    }
  }
}

}  // namespace

Catalogue Catalogue::load(const std::filesystem::path& file) {
  const Place place(file.filename().string());
  const Fields fields(read(file, place), place, {"schema_version", "profiles", "suites", "problems"});
  if (const int64_t version = fields.integer("schema_version"); version != kSchemaVersion) {
    place.fail(fields.line("schema_version"),
               fmt::format("schema_version {} is not known; this program reads {}", version, kSchemaVersion));
  }
  Catalogue catalogue;
  for (const Entry& entry : fields.entries("profiles")) {
    catalogue.profiles_[entry.key] = parse_profile(entry, place);
  }
  for (const Entry& entry : fields.entries("suites")) {
    if (entry.key == "all") place.fail(entry.line, "the suite all is there without being named");
    catalogue.suites_[entry.key] = text_of(entry.value, place, entry.key);
  }
  fields.at("problems");
  for (const YAML::Node& node : fields.elements("problems")) {
    Problem problem = parse_problem(node, place);
    require_distinct(catalogue.problems_, problem, place);
    validate(problem, catalogue.suites_, catalogue.profiles_, place);
    catalogue.problems_.push_back(std::move(problem));
  }
  std::sort(catalogue.problems_.begin(), catalogue.problems_.end(),
            [](const Problem& a, const Problem& b) { return a.id < b.id; });
  // A domain is a suite as well, unless a suite has its name.
  for (const Problem& problem : catalogue.problems_) {
    catalogue.suites_.try_emplace(problem.domain, fmt::format("all of domain {}", problem.domain));
  }
  catalogue.suites_["all"] = "every problem";
  return catalogue;
}

const Profile& Catalogue::profile_named(const std::string& name) const {
  if (const auto found = profiles_.find(name); found != profiles_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [known_name, unused] : profiles_) known.push_back(known_name);
  const std::string near = nearest(name, known);
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  throw UsageError("unknown hardware profile '" + name + "'; " +
                   (near.empty() ? "there are " + all : "did you mean " + near + "?"));
}

const Profile* Catalogue::profile_for_device(std::string_view device_name) const {
  const std::string name(device_name);
  for (const auto& [key, profile] : profiles_) {
    for (const std::string& glob : profile.matches) {
      if (fnmatch(glob.c_str(), name.c_str(), 0) == 0) return &profile;
    }
  }
  return nullptr;
}

}  // namespace pkb
