// SPDX-License-Identifier: Apache-2.0
//
// Inside the catalogue: from YAML to the data model, and what must hold there.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>

#include "catalogue/problem.h"
#include "catalogue/yaml_fields.h"

namespace pkb {

/// One entry of `problems`: keys, types, words, names. What its expressions evaluate to is looked at by `validate`.
Problem parse_problem(const YAML::Node& node, const Place& file);

/// Names that must refer to something, and every expression at every size, case and W of 1, 2, 3, 4 and 8 where the world
/// condition holds. Throws UsageError.
void validate(const Problem& problem, const std::map<std::string, std::string>& suites,
              const std::map<std::string, Profile>& profiles, const Place& file);

}  // namespace pkb
