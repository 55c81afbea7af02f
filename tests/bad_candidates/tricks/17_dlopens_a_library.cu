// SPDX-License-Identifier: Apache-2.0
//
// Trick 17: loads the library at run time, so that the module imports nothing.
// status: cheated
// devices: host cuda
// caught by: the worker looks at what is loaded before every set of draws and at the end
#include <dlfcn.h>

#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  for (const char* name : {"libnccl.so.2", "libmpi.so.40", "libmpi.so.12"}) {
    if (dlopen(name, RTLD_LAZY | RTLD_LOCAL)) fprintf(stderr, "%s is here\n", name);
  }
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
