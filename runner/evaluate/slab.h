// SPDX-License-Identifier: Apache-2.0
//
// The slab: one allocation of the worker that holds the inputs and outputs of several draws. The rank maps it, writes
// inputs into it and compares the outputs where they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalogue/problem.h"
#include "device/device.h"
#include "evaluate/compare_output.h"
#include "reference/reference_side.h"
#include "results/row.h"
#include "worker/protocol.h"

namespace pkb {

/// Where every tensor of every slot lies. By capacity, hence the same on all ranks and in all cases of one parameter
/// set. What a call may write stands between guards: bytes that nobody may touch.
class SlabLayout {
 public:
  SlabLayout(const Instance& instance, int slots);

  int slots() const { return slots_; }
  int64_t bytes() const { return shared_bytes_ + slot_bytes_ * slots_; }
  int64_t shared_bytes() const { return shared_bytes_; }  ///< what all slots have together, at the beginning
  int64_t slot_bytes() const { return slot_bytes_; }      ///< what each has on its own

  int64_t input(int slot, std::size_t index) const {
    return shared_[index] ? inputs_[index] : start_of(slot) + inputs_[index];
  }
  int64_t output(int slot, std::size_t index) const { return start_of(slot) + outputs_[index]; }
  int64_t rows(int slot, std::size_t index) const;  ///< of a dynamic output; -1 for others
  /// The guards of an output begin where it ends, and this far before it.
  static constexpr int64_t kGuardBytes = 1024;
  int64_t end_of_output(int slot, std::size_t index) const { return output(slot, index) + output_bytes_[index]; }

 private:
  int64_t start_of(int slot) const { return shared_bytes_ + slot * slot_bytes_; }

  int slots_ = 0;
  int64_t shared_bytes_ = 0, slot_bytes_ = 0;
  std::vector<int64_t> inputs_, outputs_, rows_, output_bytes_;
  std::vector<bool> shared_;  ///< by input
};

/// Is this output the input of the same name, changed by the call?
bool is_in_place(const Instance& instance, const TensorInstance& output);

/// The instance with the shapes that the inputs of this slot have: the draw decides the rows of dynamic ones.
Instance as_drawn(const Instance& instance, const ReferenceSide& reference, int slot);

/// The arguments as the worker gets them. Without a layout: for setup, without data.
protocol::ArgumentsMessage arguments_of(const Instance& instance, const SlabLayout* layout, int slot,
                                        const std::map<std::string, Scalar, std::less<>>& scalars);

/// The slab as the rank sees it. Not collective.
class Slab {
 public:
  Slab(Device& device, Stream stream, const protocol::Json& handle, SlabLayout layout);
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  const SlabLayout& layout() const { return layout_; }

  /// Writes the drawn inputs of slot `slot` of the reference and poisons its outputs.
  void fill(const Instance& instance, const ReferenceSide& reference, int slot, uint64_t seed);
  void synchronize() { device_.synchronize(stream_); }

  /// Are the inputs still as drawn? The mismatch names the first that is not.
  bool inputs_intact(const Instance& instance, const ReferenceSide& reference, int slot, MismatchDetail& detail);

  /// Are the guards around the outputs as they were? `output`: where they are not.
  bool guards_intact(const Instance& instance, int slot, std::string& output);

  /// Compares the outputs of a slot with the reference's current expected outputs.
  bool outputs_match(const Instance& instance, const ReferenceSide& reference, int slot, MismatchDetail& detail,
                     OutputErrors& errors);
  /// Where the outputs of a slot are, by index into instance.outputs; null: absent.
  std::vector<const void*> outputs(const Instance& instance, int slot) const;
  /// What lies in the slab now: with the rows the candidate reported, or all there is room for when these cannot be.
  TensorView output(const Instance& instance, int slot, std::size_t index);
  /// Of a dynamic output, as the candidate left it; -1 for others.
  int64_t reported_rows(int slot, std::size_t index);
  /// Hash of one output's bytes, for cross-rank agreement: as many as are expected now.
  uint64_t hash_output(const ReferenceSide& reference, int slot, std::size_t index);

 private:
  /// Calls with (address, bytes) of both guards of every output, by index into instance.outputs.
  template <class Function>
  void for_each_guard(const Instance& instance, int slot, Function function);

  Device& device_;
  Stream stream_;
  SlabLayout layout_;
  char* base_ = nullptr;
  uint64_t guard_hash_ = 0;
};

}  // namespace pkb
