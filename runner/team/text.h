// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pkb {

/// Text from a candidate made safe to print and to store: valid UTF-8, no control characters but line feed and tab
/// (others and broken bytes become '?'), at most `longest` bytes (cut at a character, the end is kept when `keep_end`).
std::string clean_text(std::string_view text, std::size_t longest, bool keep_end = false);

}  // namespace pkb
