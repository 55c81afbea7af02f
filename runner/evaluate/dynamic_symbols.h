// SPDX-License-Identifier: Apache-2.0
//
// What a shared object asks of the dynamic linker, read from its file without loading it. The file is a stranger's:
// nothing in it is trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pkb {

struct DynamicSymbols {
  std::vector<std::string> libraries;  ///< DT_NEEDED
  std::vector<std::string> imports;    ///< undefined symbols
  std::vector<std::string> exports;    ///< defined ones
};

/// Of an ELF file's bytes (64 bit, little endian); empty where it is none or broken: the loader will say so.
DynamicSymbols dynamic_symbols(std::string_view file);

/// Why a candidate may not link what it links: NCCL, LibTorch, MPI, NVSHMEM do what it is to do itself. Empty: it may.
std::string refused_link(const DynamicSymbols& symbols);

/// Does it call asynchronous copies of the runtime or the driver, which copy engines carry out?
bool calls_copies(const DynamicSymbols& symbols);

}  // namespace pkb
