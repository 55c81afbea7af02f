// SPDX-License-Identifier: Apache-2.0
//
// Does not compile. Must get: compile_error, with the compiler's words.
#include <pkb/candidate.h>

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return undeclared_name;
}
