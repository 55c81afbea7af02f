// SPDX-License-Identifier: Apache-2.0
//
// Inputs from base draws. Every value is a function of (seed, problem, case, tensor, owner, draw, element) alone, where
// the owner is the rank, the group, or everybody: any rank can make any other's, on any machine, and gets the same
// bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "catalogue/problem.h"
#include "device/device.h"
#include "pkb/inputs.h"
#include "reference/tensors.h"

namespace pkb {

/// The name of an independent sequence of base draws, hashed to 64 bits: FNV-1a over its parts. The same on every
/// machine.
class StreamName {
 public:
  StreamName& add(std::string_view part);
  StreamName& add(int64_t part);
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf2'9ce4'8422'2325ull;
};

/// Fills tensors with base draws, enqueued on one stream.
class BaseDraws {
 public:
  /// `stream` is LibTorch's current stream of `device`.
  BaseDraws(Device& device, at::Device torch_device, Stream stream, uint64_t seed = 1)
      : device_(device), torch_device_(torch_device), stream_(stream), seed_(seed) {}

  void set_seed(uint64_t seed) { seed_ = seed; }

  at::Device torch_device() const { return torch_device_; }
  void fill(const at::Tensor& tensor, uint64_t name, int64_t draw, Device::Distribution distribution, double a,
            double b);
  void fill(const at::Tensor& tensor, Device::Slice slice, uint64_t name, int64_t draw,
            Device::Distribution distribution, double a, double b);
  /// 0 .. n - 1 in random order (i64): random keys, sorted; equal keys keep their order.
  at::Tensor permutation(int64_t n, uint64_t name, int64_t draw);

 private:
  void settle();
  Device& device_;
  at::Device torch_device_;
  Stream stream_;
  uint64_t seed_ = 0;
};

/// Draw `draw` of the instance's inputs. Tensors of `slot` that fit are drawn anew where they are (a captured graph
/// keeps their addresses); others are allocated: then it returns true. `custom` makes the inputs that the catalogue
/// leaves to inputs.cpp; may be null. Inputs that draws share are those of `sharer`, where there is one.
bool draw_slot(BaseDraws& base, const Instance& instance, InputsFunction custom, int64_t draw, Slot& slot,
               const Slot* sharer = nullptr);

}  // namespace pkb
