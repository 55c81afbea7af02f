// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "team/team.h"

namespace pkb {

/// Aligns the ranks of a team on the device, by pads that only the ranks map: no worker ever sees them.
class Alignment {
 public:
  Alignment(Team& team, Device& device, Stream stream);  ///< collective
  ~Alignment();                                          ///< collective
  Alignment(const Alignment&) = delete;
  Alignment& operator=(const Alignment&) = delete;

  /// Enqueues a barrier of all ranks. On host, where LibTorch works in the calling thread, returns when it is passed.
  void enqueue();
  /// After a synchronisation: throws Error when a rank did not come in time.
  void check() const;

 private:
  void exchange(const MemoryHandle& own);
  Team& team_;
  Device& device_;
  Stream stream_;
  std::vector<void*> pads_;        ///< [rank]; the own one is ours, the others are mapped
  uint32_t* timed_out_ = nullptr;  ///< pinned
  uint32_t epoch_ = 0;
  int exceptions_ = 0;
};

}  // namespace pkb
