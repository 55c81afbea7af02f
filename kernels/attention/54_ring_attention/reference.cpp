// SPDX-License-Identifier: Apache-2.0
//
// out[i] = sum over keys j <= i of softmax_j(q_i k_j D^-0.5) v_j       of the whole sequence, for this rank's queries i
// q, k, v, out [B, T/W, H, D] bf16: tokens r*T/W .. ; every batch and head on its own, scores and sums in fp32
#include <pkb/reference.h>

#include "attention/ring_attention.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const double scale = pkb::softmax_scale(in, in["q"].size(-1));
  return {{"out", pkb::ring_attention(in["q"], in["k"], in["v"], scale, in.boolean("causal"), comm)}};
}
PKB_REFERENCE(baseline)
