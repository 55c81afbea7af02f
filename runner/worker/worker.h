// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "device/device.h"
#include "worker/aligner.h"
#include "worker/argument_table.h"
#include "worker/candidate_module.h"
#include "worker/rank_link.h"
#include "worker/services.h"
#include "worker/symmetric_memory.h"
#include "worker/timed_calls.h"

namespace pkb {

/// Serves the requests of one rank for one candidate, one at a time. See Type in protocol.h for what each does.
class Worker {
 public:
  explicit Worker(RankLink link) : link_(std::move(link)) {}
  [[noreturn]] void serve();

 private:
  protocol::Json handle(const protocol::Frame& request);
  protocol::Json begin(const protocol::Json& body);
  protocol::Json load(const protocol::Json& body);
  protocol::Json allocate(const protocol::Json& body);
  protocol::Json opened();
  protocol::Json setup(const protocol::Json& body);
  protocol::Json bind(const protocol::Json& body);
  protocol::Json run(const protocol::Json& body);
  protocol::Json time(const protocol::Json& body);
  protocol::Json teardown();

  const Group& world() const { return placement_.groups.front(); }
  Device& device();
  const CandidateModule& candidate() const;
  ArgumentTable& table(int64_t draw) const;
  /// Everything enqueued is done and nobody complains, or Failure(kind).
  void require_fair_play();
  void settle(const char* kind, const std::string& after);

  RankLink link_;
  Placement placement_;
  std::unique_ptr<Device> device_;
  Stream stream_;
  std::optional<SymmetricMemory> memory_;
  std::optional<Services> services_;
  std::optional<Aligner> aligner_;
  std::optional<CandidateModule> candidate_;
  std::optional<TimedCalls> timed_calls_;
  const SharedBlock* slab_block_ = nullptr;
  Slab slab_;
  std::optional<HostMirrors> mirrors_;
  std::optional<ArgumentTable> setup_arguments_;        ///< a candidate may keep pointers into it
  std::vector<std::unique_ptr<ArgumentTable>> tables_;  ///< [draw]
  bool is_set_up_ = false;
  void* state_ = nullptr;
};

}  // namespace pkb
