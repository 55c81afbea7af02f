// SPDX-License-Identifier: Apache-2.0
//
// Logging to standard error. No fmt here: files that include LibTorch use this header too.
#pragma once

#include <string_view>

namespace pkb::log {

enum class Level { debug, info, warning, error };

/// Call once at start: messages below `lowest` are dropped; `prefix` (such as "rank 2") marks the lines.
void initialise(Level lowest, std::string_view prefix);
void debug(std::string_view text);
void info(std::string_view text);
void warning(std::string_view text);
void error(std::string_view text);

}  // namespace pkb::log
