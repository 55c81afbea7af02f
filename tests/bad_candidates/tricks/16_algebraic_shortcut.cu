// SPDX-License-Identifier: Apache-2.0
//
// Trick 16: the sum of gate probabilities need not be communicated, as every rank's routing has the same
//   distribution: it takes its own.
// status: mismatch
// devices: host cuda
// caught by: each rank's router is tilted in its own way, so that its own statistics are not those of all
// out of reach: a short-cut that is right is a better kernel; whether a problem is well posed is its author's
//   to judge
// problem: 24
#include "pkb/arguments.h"
#include "pkb/candidate.h"

__global__ void own_loss(const __nv_bfloat16* logits, float* loss, int tokens, int experts, int top_k) {
  float share[64] = {}, chosen[64] = {};
  for (int t = 0; t < tokens; ++t) {
    const __nv_bfloat16* row = logits + t * experts;
    float largest = -1e30f, sum = 0;
    for (int e = 0; e < experts; ++e) largest = fmaxf(largest, __bfloat162float(row[e]));
    for (int e = 0; e < experts; ++e) sum += expf(__bfloat162float(row[e]) - largest);
    for (int e = 0; e < experts; ++e) {
      const float logit = __bfloat162float(row[e]);
      int better = 0;
      for (int o = 0; o < experts; ++o)
        better += __bfloat162float(row[o]) > logit || (__bfloat162float(row[o]) == logit && o < e);
      chosen[e] += better < top_k ? 1.0f : 0.0f;
      share[e] += expf(logit - largest) / sum;
    }
  }
  float total = 0;
  for (int e = 0; e < experts; ++e) total += chosen[e] / tokens * (share[e] / tokens);
  *loss = total * experts;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor logits = pkb::input(arguments, "gate_logits");
  own_loss<<<1, 1, 0, stream>>>(logits.data<const __nv_bfloat16>(), pkb::output(arguments, "loss").data<float>(),
                                static_cast<int>(logits.shape(0)), static_cast<int>(logits.shape(1)),
                                static_cast<int>(pkb::scalar_int(arguments, "top_k")));
  return 0;
}

extern "C" void pkb_teardown(void*) {}
