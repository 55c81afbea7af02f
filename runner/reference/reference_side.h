// SPDX-License-Identifier: Apache-2.0
//
// The trusted side of one rank without a LibTorch type in sight: inputs, expected outputs and the baseline's times. The
// implementation alone includes LibTorch; callers may use fmt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "catalogue/problem.h"
#include "device/device.h"
#include "team/team.h"
#include "worker/protocol.h"

namespace pkb {

/// A tensor of the trusted side, contiguous, on the device (or pinned host memory for place: host).
struct TensorView {
  const void* data = nullptr;  ///< null: absent on this rank
  Dtype dtype = Dtype::bf16;
  std::vector<int64_t> shape;
  int64_t elements() const;
  bool present() const { return data != nullptr; }
};

/// What a dump holds beside the inputs and the expected outputs of a slot.
struct DumpDetails {
  int trial = 0;
  int64_t draw = 0;
  std::vector<TensorView> actual;  ///< by index into instance.outputs; empty: there is no candidate
  std::vector<int64_t> rows;       ///< likewise, as the candidate reported; -1: the output is not dynamic
};

struct ReferenceOptions {
  bool ranks_share_gpus = false;  ///< then references communicate through MPI, staged through the host
};

/// Answers that must be found wrong, but for `reference`: it again, by its first baseline.
enum class Control {
  reference,
  zeros,
  ones,
  input,    ///< the bytes of the inputs, repeated
  stale,    ///< the answer to another draw
  mute,     ///< the reference, with a Comm in which no other rank's data arrive
  partial,  ///< the same, but one rank's data alone are missing
  one_off,  ///< one element of each output off by three times its tolerance, or by one bit
};

/// All calls but the getters are collective over the team unless said otherwise.
class ReferenceSide {
 public:
  /// Sets LibTorch up (one thread a rank on host, TF32 and reduced-precision accumulation off, device current) and
  /// makes the communicators, once a job.
  ReferenceSide(Team& team, Device& device, const ReferenceOptions& options);
  ~ReferenceSide();

  /// Of all draws from now on.
  void set_seed(uint64_t seed);
  /// Loads kernels/<folder>/reference.so. Throws Error with the loader's text.
  void load(const std::filesystem::path& shared_object);
  std::vector<std::string> baselines() const;

  /// Draws [first, first + count) of the instance's case become slots 0 .. count - 1; earlier slots are dropped. Not
  /// collective. Base draws are the same bits on every machine. Lists are expanded as in instance.inputs.
  void make_draws(const Instance& instance, int64_t first, int count);
  int slots() const;
  TensorView input(int slot, std::size_t index) const;  ///< index into instance.inputs
  /// Scalars of a slot's draw (they may change from draw to draw).
  const std::map<std::string, Scalar, std::less<>>& scalars(int slot) const;

  /// Runs what defines the answer on a slot and keeps the result until the next call. In-place arguments are copied
  /// first, so the slot's inputs stay as drawn. Throws Error when an output's shape or dtype is not what the catalogue
  /// declares.
  void make_expected(int slot);
  TensorView expected(std::size_t index) const;  ///< index into instance.outputs
  void drop_expected();                          ///< scrubs and frees
  /// Writes a slot and the current expected outputs as a file for Python's torch.load, see docs/results.md. Not
  /// collective. Throws Error naming the file.
  void dump(const std::filesystem::path& file, int slot, const DumpDetails& details) const;

  /// What the reference's own check finds wrong with a slot's outputs, beside the comparison of elements; empty:
  /// nothing. `outputs` by index into instance.outputs, of the expected outputs' shapes and as declared in memory,
  /// which the device can address; null: absent. The expected outputs are current.
  std::string check(int slot, const std::vector<const void*>& outputs);

  /// A control's answer on a slot, whose expected outputs are current; kept until they are dropped. `unheard`: the
  /// world rank whose data are missing for `partial`.
  void make_control(Control control, int slot, int unheard);
  TensorView control(std::size_t index) const;  ///< index into instance.outputs
  /// Why an expected output cannot tell a right answer from a lazy one: the control (zeros, constant, nan, input) and
  /// what it is. Both empty: it can. Not collective.
  struct Degenerate {
    std::string control, what;
  };
  Degenerate degenerate(int slot, std::size_t index) const;
  /// Is an input of the slot the same as in the slot before, where it should not be? Not collective.
  bool repeats_input(int slot, std::size_t index) const;

  /// Times one baseline over slots in this order. burst, each, isolated, graph and warm_up as for candidates; outputs
  /// are dropped as a program would drop them. The last slot's inputs of in-place problems are restored outside the
  /// timed span.
  protocol::TimeReply time(const std::string& baseline, const protocol::TimeRequest& request);

  /// Frees what the caching allocator holds; between problems.
  void release();
  int64_t allocated_bytes() const;
  std::string versions() const;  ///< "torch 2.11.0+cu130, NCCL 2.28.9"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pkb
