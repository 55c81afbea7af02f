// SPDX-License-Identifier: Apache-2.0
//
// The table of options. A new option is one entry here and one member of Options.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options/options.h"

namespace pkb {

struct OptionSpec {
  const char* group;  ///< heading in the help
  unsigned programs;  ///< that have it: Program values added up
  const char* name;
  char letter;           ///< one-letter form; 0: none
  const char* argument;  ///< what the help calls its value; null: a flag
  std::string help;
  /// Reads a value ("" for a flag). Throws UsageError.
  std::function<void(Options&, const std::string& name, const std::string& value)> set;
  /// As results.json records it; null: it does not influence results.
  std::function<nlohmann::ordered_json(const Options&)> record;
};

/// Ordered by group.
const std::vector<OptionSpec>& option_table();

}  // namespace pkb
