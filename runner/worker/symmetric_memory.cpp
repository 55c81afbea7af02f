// SPDX-License-Identifier: Apache-2.0
#include "worker/symmetric_memory.h"

#include <exception>
#include <functional>

#include "core/error.h"
#include "worker/fields.h"

namespace pkb {
namespace {

using protocol::Json;

/// Runs a step that may fail on this member alone; the error becomes text that the others can read.
std::string error_of(const std::function<void()>& step) {
  try {
    step();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string packed(const MemoryHandle& handle, const std::string& error) {
  std::string text;
  Json::to_msgpack({{"error", error}, {"handle", protocol::to_json(handle)}}, text);
  return text;
}

Json unpacked(const std::string& text) {
  Json json = Json::from_msgpack(text, true, false);
  if (json.is_discarded()) throw Error("a peer sent a broken memory handle");
  return json;
}

/// Throws the same on every member when any of them failed.
void agree(const Group& group, const std::string& what, const std::vector<std::string>& errors) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!errors[i].empty())
      throw Error(what + " failed on rank " + std::to_string(group.members[i]) + ": " + errors[i]);
  }
}

}  // namespace

const SharedBlock& SymmetricMemory::allocate(const Group& group, std::size_t bytes, const std::string& what) {
  SharedBlock& block = blocks_.emplace_back();
  const std::string own_error = error_of([&] { block.local = device_.allocate_shared(bytes, block.handle); });
  const std::vector<std::string> handles = link_.exchange(what, group, packed(block.handle, own_error));
  std::vector<std::string> errors;
  for (const std::string& handle : handles) errors.push_back(protocol::string_field(unpacked(handle), "error"));
  agree(group, what, errors);

  const std::string open_error = error_of([&] { open_peers(group, handles, block); });
  agree(group, what, link_.exchange(what + ", opened", group, open_error));
  return block;
}

const SharedBlock& SymmetricMemory::allocate_alone(std::size_t bytes) {
  SharedBlock& block = blocks_.emplace_back();
  block.local = device_.allocate_shared(bytes, block.handle);
  return block;
}

void SymmetricMemory::open_peers(const Group& group, const std::vector<std::string>& handles, SharedBlock& block) {
  block.peers.assign(group.size(), nullptr);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const bool own = i == static_cast<std::size_t>(group.index);
    const Json packed_handle = unpacked(handles[i]);
    block.peers[i] =
        own ? block.local : device_.open(protocol::handle_from_json(protocol::field(packed_handle, "handle")));
  }
}

void SymmetricMemory::close_imports() {
  for (SharedBlock& block : blocks_) {
    for (void* const peer : block.peers) {
      if (peer != nullptr && peer != block.local) device_.close(peer);
    }
    block.peers.clear();
  }
}

void SymmetricMemory::free_all() {
  for (const SharedBlock& block : blocks_) {
    if (block.local != nullptr) device_.free_shared(block.local);
  }
  blocks_.clear();
}

}  // namespace pkb
