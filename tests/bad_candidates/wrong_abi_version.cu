// SPDX-License-Identifier: Apache-2.0
//
// Says it was built for another ABI. Must get: load_error, naming both versions.
#define pkb_abi_version pkb_abi_version_of_header
#include <pkb/candidate.h>
#undef pkb_abi_version

extern "C" PKB_EXPORT int pkb_abi_version(void) {
  return 999;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void** state) {
  *state = nullptr;
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
