// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pkb {

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits: names a candidate and a cache entry by content.
std::string sha256(std::string_view data);

}  // namespace pkb
