// SPDX-License-Identifier: Apache-2.0
//
// Pair (idx[i], value[i]) goes to rank idx[i] mod W, which receives the pairs of rank 0, then 1, .., each rank's in
// their original order.   idx [n] i64, value [n, hidden] bf16; the ids stay global
#include "common/owner_exchange.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& idx = in["idx"];
  const auto [order, counts] = pkb::group_by_owner(idx.remainder(comm.size()), comm.size());
  const pkb::ArrivingSplits counted(counts, comm);
  const at::Tensor sent_idx = idx.index_select(0, order), sent_value = in["value"].index_select(0, order);
  const pkb::Splits splits = counted.read();
  return {{"recv_idx", pkb::exchange_rows(sent_idx, splits, comm)},
          {"recv_value", pkb::exchange_rows(sent_value, splits, comm)}};
}
PKB_REFERENCE(baseline)
