// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "device/device.h"

namespace pkb {

/// Memory of other processes that this one has mapped, one mapping an allocation: opening a handle again returns the
/// same address (CUDA refuses a second mapping), and the last close unmaps.
class Imports {
 public:
  struct Mapping {
    MemoryHandle handle;
    void* base = nullptr;
    int count = 0;
  };

  /// `map` makes the mapping and returns its base.
  template <class Map>
  void* open(const MemoryHandle& handle, Map&& map) {
    if (handle.offset >= handle.bytes) throw Error("open: the handle's offset lies outside its allocation");
    auto found = std::find_if(mappings_.begin(), mappings_.end(),
                              [&](const Mapping& mapping) { return mapping.handle.payload == handle.payload; });
    if (found == mappings_.end()) found = mappings_.insert(found, {handle, map(), 0});
    ++found->count;
    return static_cast<std::byte*>(found->base) + handle.offset;
  }

  /// `data` is what `open` returned; `unmap(mapping)` is called at the last close.
  template <class Unmap>
  void close(void* data, Unmap&& unmap) {
    const auto found = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
      const auto* base = static_cast<std::byte*>(mapping.base);
      return data >= base && data < base + mapping.handle.bytes;
    });
    if (found == mappings_.end()) throw Error("close: not an address that open returned");
    if (--found->count > 0) return;
    const Mapping mapping = *found;
    mappings_.erase(found);
    unmap(mapping);
  }

  const std::vector<Mapping>& mappings() const { return mappings_; }

 private:
  std::vector<Mapping> mappings_;
};

}  // namespace pkb
