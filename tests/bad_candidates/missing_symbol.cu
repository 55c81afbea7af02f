// SPDX-License-Identifier: Apache-2.0
//
// Defines no pkb_run. Must get: load_error, naming the symbol.
#include <pkb/candidate.h>

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void** state) {
  *state = nullptr;
  return 0;
}

extern "C" void pkb_teardown(void*) {}
