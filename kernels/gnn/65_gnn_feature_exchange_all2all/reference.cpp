// SPDX-License-Identifier: Apache-2.0
//
// gathered[j] = local_features[seed_inverse_ids[j]];  slot i is peer (r + i) mod W
// gathered is cut into slots of counts_received[i] rows, which go to their peers; out has slots of counts_sent[i] rows,
// which come from theirs (the counts are named after the opposite direction).   local_features [3M/4, hidden], bf16
#include "gnn/rotated_slots.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor gathered = in["local_features"].index_select(0, in["seed_inverse_ids"]);
  return {{"out", pkb::exchange_slots(gathered, in["counts_received"], in["counts_sent"], comm)}};
}
PKB_REFERENCE(baseline)
