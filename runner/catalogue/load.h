// SPDX-License-Identifier: Apache-2.0
//
// Inside the catalogue: from YAML to the data model, and what must hold there. All errors are UsageError with their
// line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/problem.h"
#include "catalogue/yaml_fields.h"

namespace pkb {

/// One entry of `problems`: keys, types and words. `validate` looks at what the names refer to.
Problem parse_problem(const YAML::Node& node, const Place& file);

/// Names that must refer to something, and every expression at every size, case and W of 1, 2, 3, 4 and 8 that is
/// legal.
void validate(const Problem& problem, const std::map<std::string, std::string>& suites,
              const std::map<std::string, Profile>& profiles, const Place& file);

// Parts of parse_problem. `problem` is the place of the entry.
TensorSpec parse_input(const YAML::Node& node, const Place& problem);
TensorSpec parse_output(const YAML::Node& node, const Place& problem);
DrawSpec parse_draw(const YAML::Node& node, const Place& place);
ToleranceSpec parse_tolerance(const Fields& fields);  ///< of a map that may have atol, atol_rms, rtol, frobenius
std::vector<ScalarSpec> parse_scalars(const std::vector<Entry>& entries, const Place& place);
bool is_float_literal(const std::string& text);  ///< "1.0", "1e-5", not "1"

/// "input A" for a map with `name: A`; "input" when there is no name to show.
std::string label(std::string_view what, const YAML::Node& node, const char* key = "name");

}  // namespace pkb
