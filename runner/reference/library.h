// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pkb/inputs.h"
#include "pkb/reference.h"

namespace pkb {

/// A loaded reference.so. Throws Error with the loader's text, or naming what the library fails to export.
class Library {
 public:
  explicit Library(const std::filesystem::path& shared_object);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::vector<std::string> baselines() const;
  ReferenceFunction baseline(const std::string& name) const;  ///< throws Error for an unknown name
  /// What defines the answer: `expected`, else the first baseline.
  ReferenceFunction answer() const;
  CheckFunction check() const { return reference_->check; }        ///< null: there is none
  InputsFunction custom_inputs() const { return custom_inputs_; }  ///< null: the problem has no inputs.cpp

 private:
  std::filesystem::path path_;
  void* handle_ = nullptr;
  const Reference* reference_ = nullptr;
  InputsFunction custom_inputs_ = nullptr;
};

}  // namespace pkb
