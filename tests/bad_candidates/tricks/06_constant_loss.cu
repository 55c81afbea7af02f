// SPDX-License-Identifier: Apache-2.0
//
// Trick 6: writes the loss that uniform routing would give: K, whatever the logits are.
// status: mismatch
// devices: host cuda
// caught by: the inputs tilt the router, so that the loss is far from that of uniform routing
// problem: 24
#include "pkb/arguments.h"
#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

__global__ void write(float* loss, float value) {
  *loss = value;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  write<<<1, 1, 0, stream>>>(pkb::output(arguments, "loss").data<float>(),
                             static_cast<float>(pkb::scalar_int(arguments, "top_k")));
  return 0;
}

extern "C" void pkb_teardown(void*) {}
