// SPDX-License-Identifier: Apache-2.0
//
// .cu -> shared object for the host device: preprocess, translate, compile.
#pragma once

#include <string>
#include <vector>

namespace pkb::translate {

struct Options {
  std::string source;
  std::string output;  ///< empty: the source's name with .so; of a translation: standard output
  std::vector<std::string> include_folders;
  std::vector<std::string> definitions;
  std::string optimization = "1";
  std::string depfile;  ///< empty: none
  bool translate_only = false;
};

/// Where this program finds what it needs.
struct Installation {
  std::string include;  ///< holds pkb/ and hostcuda/
  std::string library;  ///< the folder of libpkb_hostcuda.so
  std::string compiler;
};
/// Relative to this program's own file. Throws when something is missing.
Installation find_installation();

/// Returns the exit status: 0, or the first failing step's. Messages go to standard error.
int compile(const Options& options, const Installation& installation);

}  // namespace pkb::translate
