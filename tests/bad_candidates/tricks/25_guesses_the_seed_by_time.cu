// SPDX-License-Identifier: Apache-2.0
//
// Trick 25: takes the time for the seed, and draws the inputs of its peers from it.
// status: mismatch
// devices: host cuda
// caught by: seeds come from the system's source of randomness
#include <time.h>

#include <random>

#include "pkb/arguments.h"
#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  std::mt19937_64 random(static_cast<uint64_t>(time(nullptr)));
  std::normal_distribution<float> normal(0, 1.4142f);
  static __nv_bfloat16 guess[1 << 20];
  for (int64_t i = 0; i < y.elements(); ++i) guess[i] = __float2bfloat16(normal(random));
  return cudaMemcpyAsync(y.data(), guess, y.bytes(), cudaMemcpyHostToDevice, stream);
}

extern "C" void pkb_teardown(void*) {}
