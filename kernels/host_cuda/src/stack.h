// SPDX-License-Identifier: Apache-2.0
//
// Stacks of fibers. One pool a runtime thread; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pkb::hostcuda {

struct Stack {
  char* base = nullptr;  ///< lowest address
  std::size_t bytes = 0;

  char* top() const { return base + bytes; }
  /// False after an overflow that wrote over the lowest words.
  bool intact() const;
};

/// Hands out stacks cut from large mappings: a guard page each would use up the kernel's limit on mappings
/// (vm.max_map_count) with some thousand fibers. The last one given back is the first one taken, so that its pages are
/// warm.
class StackPool {
 public:
  explicit StackPool(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  Stack take();
  void give(Stack stack) { free_.push_back(stack); }

 private:
  void grow();

  struct Slab {
    void* address;
    std::size_t bytes;
  };
  std::size_t stack_bytes_;
  std::vector<Stack> free_;
  std::vector<Slab> slabs_;
};

}  // namespace pkb::hostcuda
