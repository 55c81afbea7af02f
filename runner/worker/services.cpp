// SPDX-License-Identifier: Apache-2.0
#include "worker/services.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "core/error.h"

namespace pkb {
namespace {

constexpr int kServiceFailed = 1;
constexpr int64_t kAlignment = 256;
constexpr int64_t kLargest = int64_t{1} << 48;  // beyond any device; keeps sums of sizes from overflowing

// Before and behind every symmetric buffer and its signal pad; buffers begin at such a distance from an allocation's
// beginning.
constexpr int64_t kGuardBytes = 4096;
constexpr int kGuard = 0xA5;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void check_bytes(int64_t bytes) {
  if (bytes < 0 || bytes > kLargest) throw Error(std::to_string(bytes) + " bytes is no size");
}

pkb_device_facts facts_for(const DeviceFacts& facts, const Placement& placement) {
  pkb_device_facts out{};
  out.is_host = facts.kind == DeviceKind::host ? 1 : 0;
  out.sm_count = facts.sm_count;
  out.cc_major = facts.cc_major;
  out.cc_minor = facts.cc_minor;
  out.warp_size = facts.warp_size;
  out.multicast = facts.multicast && placement.multicast ? 1 : 0;
  out.ranks_per_gpu = placement.ranks_per_gpu;
  out.l2_bytes = facts.l2_bytes;
  out.shared_bytes_per_block = facts.shared_bytes_per_block;
  out.global_bytes = facts.total_bytes;
  return out;
}

}  // namespace

Services::Services(Device& device, RankLink& link, SymmetricMemory& memory, const Placement& placement, Stream stream)
    : device_(device), link_(link), memory_(memory), stream_(stream), groups_(placement.groups) {
  for (const Group& group : groups_) members_.emplace_back(group.members.begin(), group.members.end());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    group_views_.push_back(
        {groups_[i].name.c_str(), static_cast<int32_t>(groups_[i].size()), groups_[i].index, members_[i].data()});
  }
  context_.struct_size = sizeof(pkb_context);
  context_.abi_version = PKB_ABI_VERSION;
  context_.rank = placement.rank;
  context_.world = placement.world;
  context_.n_groups = static_cast<int32_t>(group_views_.size());
  context_.groups = group_views_.data();
  context_.device = facts_for(device.facts(), placement);
  context_.symmetric_alloc = symmetric_alloc;
  context_.workspace = workspace;
  context_.host_barrier = host_barrier;
  context_.log = log;
  context_.harness = this;
}

void Services::free_workspaces() {
  for (void* const data : workspaces_) device_.free(data);
  workspaces_.clear();
  tables_.clear();
}

Services& Services::of(const pkb_context* context) {
  return *static_cast<Services*>(context->harness);
}

void Services::set_guard(char* guard) {
  device_.fill_bytes(guard, kGuard, kGuardBytes, stream_);
  if (guard_hash_ == 0) guard_hash_ = device_.hash(guard, kGuardBytes, stream_);
  device_.synchronize(stream_);
}

std::string Services::broken_guard() {
  for (const Tables& tables : tables_) {
    for (const auto& [guard, where] : tables.guards) {
      if (device_.hash(guard, kGuardBytes, stream_) == guard_hash_) continue;
      return "a symmetric buffer of " + std::to_string(tables.bytes) + " bytes was written to " + where;
    }
  }
  return {};
}

int Services::symmetric_alloc(const pkb_context* context, const char* group, int64_t bytes, pkb_symmetric* out) {
  Services& self = of(context);
  return self.serve("symmetric_alloc", [&] {
    if (out == nullptr) throw Error("the result pointer is null");
    check_bytes(bytes);
    self.allocate_symmetric(self.group_named(group), bytes, *out);
  });
}

int Services::workspace(const pkb_context* context, int64_t bytes, void** out) {
  Services& self = of(context);
  return self.serve("workspace", [&] {
    if (out == nullptr) throw Error("the result pointer is null");
    check_bytes(bytes);
    self.workspaces_.push_back(self.device_.allocate(static_cast<std::size_t>(std::max<int64_t>(bytes, 1))));
    *out = self.workspaces_.back();
  });
}

int Services::host_barrier(const pkb_context* context, const char* group) {
  Services& self = of(context);
  return self.serve("host_barrier", [&] {
    const Group& members = self.group_named(group);
    self.device_.synchronize();
    self.link_.meet("host_barrier", members);
  });
}

void Services::log(const pkb_context*, const char* text) {
  std::fprintf(stderr, "candidate: %s\n", text != nullptr ? text : "(null)");
}

/// Nothing may leave through the candidate's frames but a code.
int Services::serve(const char* service, const std::function<void()>& work) {
  std::string error;
  try {
    if (!open_) throw Error("services are valid in pkb_setup only");
    work();
    return 0;
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  if (!error.starts_with(service)) error = std::string(service) + ": " + error;
  std::fprintf(stderr, "pkb_worker: %s\n", error.c_str());
  if (first_error_.empty()) first_error_ = error;
  return kServiceFailed;
}

const Group& Services::group_named(const char* name) const {
  if (name == nullptr) return groups_.front();
  const auto found = std::ranges::find(groups_, std::string_view(name), &Group::name);
  if (found == groups_.end()) throw Error("this rank is in no group \"" + std::string(name) + "\"");
  return *found;
}

/// Buffer and signal pad are one allocation, so that one handle a member is exchanged: guard, buffer, guard, pad,
/// guard.
void Services::allocate_symmetric(const Group& group, int64_t bytes, pkb_symmetric& out) {
  constexpr int64_t kPadBytes = PKB_SIGNAL_WORDS * sizeof(uint32_t);
  const int64_t pad = kGuardBytes + aligned(bytes) + kGuardBytes, end = pad + kPadBytes;
  const SharedBlock& block = memory_.allocate(group, static_cast<std::size_t>(end + kGuardBytes),
                                              "symmetric_alloc of " + std::to_string(bytes) + " bytes");
  memory_.all_opened(block);
  Tables& tables = tables_.emplace_back();
  tables.bytes = bytes;
  for (void* const peer : block.peers) {
    tables.peers.push_back(static_cast<char*>(peer) + kGuardBytes);
    tables.signals.push_back(reinterpret_cast<uint32_t*>(static_cast<char*>(peer) + pad));
  }
  char* const own = static_cast<char*>(block.local);
  tables.guards = {{own, "before its beginning"},
                   {own + kGuardBytes + bytes, "past its end"},
                   {own + end, "past the end of its signal pad"}};
  for (const auto& [guard, unused] : tables.guards) set_guard(guard);
  out = {.local = own + kGuardBytes,
         .peers = tables.peers.data(),
         .signal = tables.signals[static_cast<std::size_t>(group.index)],
         .peer_signals = tables.signals.data(),
         .multicast = nullptr,
         .bytes = bytes};
}

}  // namespace pkb
