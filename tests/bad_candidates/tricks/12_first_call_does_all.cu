// SPDX-License-Identifier: Apache-2.0
//
// Trick 12: the first call of a loop computes all its draws at once, the others find their answers: launches
//   and barriers are paid once.
// status: cheated
// devices: cuda
// caught by: nothing yet where the loop stays above the roofline
// open: the inputs of all draws lie there when the first call begins. A call should find its inputs complete
//   only when the one before has ended.
#include "ahead.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void**) {
  return ahead::setup(context, arguments);
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  return ahead::run(arguments, stream);
}

extern "C" void pkb_teardown(void*) {}
