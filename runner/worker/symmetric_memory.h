// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "device/device.h"
#include "worker/rank_link.h"

namespace pkb {

/// One allocation that every member of a group made, with the others' mapped.
struct SharedBlock {
  void* local = nullptr;
  std::vector<void*> peers;  ///< [group size]; the own entry is `local`
  MemoryHandle handle;       ///< of `local`
};

/// Memory that workers share. Collective steps are agreed upon: when one member cannot allocate or open, all get the
/// same Error, which names the rank and its reason.
class SymmetricMemory {
 public:
  SymmetricMemory(Device& device, RankLink& link) : device_(device), link_(link) {}

  /// Collective over the group. Zeroed. Returns when every member has opened all blocks. `what` says for people what
  /// this is.
  const SharedBlock& allocate(const Group& group, std::size_t bytes, const std::string& what);
  /// Not collective: memory that only this worker and its rank share.
  const SharedBlock& allocate_alone(std::size_t bytes);
  /// Nobody else will open it: leaves nothing behind should this process die.
  void all_opened(const SharedBlock& block) { device_.all_opened(block.local); }

  // The end of all blocks, in this order with a meeting of all members between the two.
  void close_imports();
  void free_all();

 private:
  void open_peers(const Group& group, const std::vector<std::string>& handles, SharedBlock& block);
  Device& device_;
  RankLink& link_;
  std::list<SharedBlock> blocks_;  ///< addresses are handed out
};

}  // namespace pkb
