// SPDX-License-Identifier: Apache-2.0
//
// By which mechanisms a candidate can move data between GPUs, read from its machine code and its imports. What the code
// holds, not what a call used: a word more than needed is possible, a word too few is not.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "device/device.h"
#include "evaluate/dynamic_symbols.h"

namespace pkb {

/// Of a listing of machine code (SASS): `sm` (loads, stores or atomics at system scope), `tma` (bulk and tensor
/// copies), `multicast` (multimem).
std::set<std::string> mechanisms_in(std::istream& listing);

/// The above and `copy_engine`, of a CUDA candidate. Disassembles it with cuobjdump, once: the answer is kept in
/// `cache` under the name `key`. Empty where there is nothing to read it with; `why_not` says so.
std::vector<std::string> find_mechanisms(const std::filesystem::path& module, const DynamicSymbols& symbols,
                                         const DeviceFacts& device, const std::filesystem::path& cache,
                                         const std::string& key, std::string& why_not);

}  // namespace pkb
