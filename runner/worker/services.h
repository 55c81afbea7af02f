// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "pkb/candidate.h"
#include "worker/rank_link.h"
#include "worker/symmetric_memory.h"

namespace pkb {

/// What a worker is told about its rank.
struct Placement {
  int rank = 0, world = 1;
  std::vector<Group> groups;  ///< groups[0] is the world
  bool multicast = false;     ///< was asked for
  int ranks_per_gpu = 1;
};

/// The context that pkb_setup gets, and its services. A service that fails writes why to the log (standard error),
/// returns an error code and remembers the text, because candidates tend to return a code of their own.
class Services {
 public:
  Services(Device& device, RankLink& link, SymmetricMemory& memory, const Placement& placement, Stream stream);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  const pkb_context* context() const { return &context_; }
  /// Services are for setup only; closed at first.
  void set_open(bool open) { open_ = open; }
  const std::string& first_error() const { return first_error_; }
  /// Which symmetric buffer, and where, somebody wrote past its ends; empty: none. For a time when no rank works.
  std::string broken_guard();
  /// Frees workspaces. Symmetric buffers belong to SymmetricMemory.
  void free_workspaces();

 private:
  /// Storage behind one pkb_symmetric.
  struct Tables {
    std::vector<void*> peers;
    std::vector<uint32_t*> signals;
    std::vector<std::pair<char*, const char*>> guards;  ///< of the own buffer: where, and where in words
    int64_t bytes = 0;
  };
  static Services& of(const pkb_context* context);
  static int symmetric_alloc(const pkb_context* context, const char* group, int64_t bytes, pkb_symmetric* out);
  static int workspace(const pkb_context* context, int64_t bytes, void** out);
  static int host_barrier(const pkb_context* context, const char* group);
  static void log(const pkb_context* context, const char* text);

  int serve(const char* service, const std::function<void()>& work);
  const Group& group_named(const char* name) const;
  void set_guard(char* guard);
  void allocate_symmetric(const Group& group, int64_t bytes, pkb_symmetric& out);

  Device& device_;
  RankLink& link_;
  SymmetricMemory& memory_;
  Stream stream_;
  std::vector<Group> groups_;
  std::vector<std::vector<int32_t>> members_;
  std::vector<pkb_group> group_views_;
  std::list<Tables> tables_;
  std::vector<void*> workspaces_;
  uint64_t guard_hash_ = 0;
  pkb_context context_{};
  bool open_ = false;
  std::string first_error_;
};

}  // namespace pkb
