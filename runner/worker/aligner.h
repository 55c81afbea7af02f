// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "device/device.h"
#include "worker/rank_link.h"
#include "worker/symmetric_memory.h"

namespace pkb {

/// Brings the ranks to one point in time: first the processes, by an exchange, then their streams, by a barrier on the
/// device over pads of the workers' own. The streams never wait long for a process, and never for ever.
class Aligner {
 public:
  Aligner(Device& device, RankLink& link, SymmetricMemory& memory, const Group& world);
  ~Aligner();
  Aligner(const Aligner&) = delete;
  Aligner& operator=(const Aligner&) = delete;

  /// Collective. The processes meet; at first the pads are made.
  void meet();
  /// Collective. Why a step is not possible, when any rank has a reason: "rank 1: ..."; empty when none has.
  std::string any_reason(const std::string& mine);
  /// Enqueues the barrier; `meet` came before.
  void enqueue(Stream stream);
  /// After a synchronisation: throws Failure when a barrier ran into its time limit.
  void check() const;
  /// The pads are about to be freed with all symmetric memory.
  void forget_pads();

 private:
  Device& device_;
  RankLink& link_;
  SymmetricMemory& memory_;
  Group world_;
  const SharedBlock* pads_ = nullptr;
  uint32_t epoch_ = 0;
  uint32_t* timed_out_ = nullptr;  ///< pinned
};

}  // namespace pkb
