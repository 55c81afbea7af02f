// SPDX-License-Identifier: Apache-2.0
#include "reference/library.h"

#include <dlfcn.h>

#include "core/error.h"

namespace pkb {

Library::Library(const std::filesystem::path& shared_object) : path_(shared_object) {
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    throw Error("cannot load the reference " + path_.string() + ": " +
                (reason != nullptr ? reason : "no reason given"));
  }
  try {
    const auto entry = reinterpret_cast<ReferenceEntry>(dlsym(handle_, kReferenceSymbol));
    if (entry == nullptr)
      throw Error(path_.string() + " exports no " + kReferenceSymbol + "; end it with PKB_REFERENCE(...)");
    reference_ = entry();
    if (reference_ == nullptr || reference_->baselines.empty()) throw Error(path_.string() + " names no baseline");
    using InputsEntry = InputsFunction (*)();
    const auto inputs = reinterpret_cast<InputsEntry>(dlsym(handle_, kInputsSymbol));
    if (inputs != nullptr) custom_inputs_ = inputs();
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

Library::~Library() {
  dlclose(handle_);
}

std::vector<std::string> Library::baselines() const {
  std::vector<std::string> names;
  for (const Baseline& baseline : reference_->baselines) names.emplace_back(baseline.name);
  return names;
}

ReferenceFunction Library::baseline(const std::string& name) const {
  for (const Baseline& baseline : reference_->baselines) {
    if (name == baseline.name) return baseline.run;
  }
  throw Error(path_.string() + " has no baseline \"" + name + "\"");
}

ReferenceFunction Library::answer() const {
  return reference_->expected != nullptr ? reference_->expected : reference_->baselines.front().run;
}

}  // namespace pkb
