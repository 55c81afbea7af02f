// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pkb/candidate.h"
#include "worker/failure.h"

namespace pkb {

/// A candidate's shared object, loaded for the life of the process. Calls come back as Failures: a return code that is
/// not zero, a C++ exception that left the function, and what the candidate's CUDA runtime last complained about.
class CandidateModule {
 public:
  /// Throws Failure(load_error): no such file, not a shared object, unresolved symbols, functions missing, another ABI
  /// version.
  explicit CandidateModule(const std::string& path);

  void setup(const pkb_context* context, const pkb_arguments* arguments, void** state) const;
  /// `which` names the call in a Failure; it is asked for only then.
  template <class Which>
  void run(void* state, const pkb_arguments* arguments, void* stream, const Which& which) const {
    int code = 0;
    try {
      code = run_(state, arguments, static_cast<cudaStream_t>(stream));
    } catch (...) {
      rethrow_as_failure("runtime_error", "pkb_run" + which());
    }
    if (code != 0) refuse_code("runtime_error", "pkb_run" + which(), code);
  }
  void teardown(void* state) const;

  /// Throws Failure(cheated) when a refused library has come into the process, however it did.
  static void refuse_loaded_libraries();
  /// Takes the last error of the candidate's CUDA runtime; empty: none. Does not fail.
  std::string take_error() const;

 private:
  [[noreturn]] static void rethrow_as_failure(const char* kind, const std::string& what);
  [[noreturn]] static void refuse_code(const char* kind, const std::string& what, int code);

  decltype(&pkb_setup) setup_ = nullptr;
  decltype(&pkb_run) run_ = nullptr;
  decltype(&pkb_teardown) teardown_ = nullptr;
  int (*last_error_)(const char**) = nullptr;
};

}  // namespace pkb
