// SPDX-License-Identifier: Apache-2.0
//
// What a reference may include. A reference is one `reference.cpp` that opens with its mathematics in five comment
// lines and then reads like the PyTorch program it stands for:
//
//   #include <pkb/reference.h>
//
//   pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
//     at::Tensor c = at::matmul(in["A"], in["B"]);
//     comm.all_reduce(c);
//     return {{"C", c}};
//   }
//   PKB_REFERENCE(baseline)
//
// It runs on the trusted side, on every rank, without gradients, on the current CUDA stream (device `cuda`) or on the
// CPU (device `host`). It is the baseline whose time the speed-up is taken against: no avoidable copy, cast or
// synchronisation.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pkb/scalar.h"

namespace pkb {

enum class ReduceOp { sum, max, min, prod, avg };

/// A verb that has been started, as torch.distributed's with async_op = True. Until it is waited for its outputs must
/// not be read and its inputs not be changed; it keeps both alive.
class Work {
 public:
  virtual ~Work() = default;  ///< waits, if nobody has
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual void wait() = 0;  ///< CUDA tensors: the current stream goes on after it; CPU tensors: until done
};

/// Communication with the verbs of torch.distributed, on the world or on a sub-group. Calls are collective over the
/// group and block only as PyTorch's do (CUDA tensors: ordered on the current stream; CPU tensors: until done). Tensors
/// must be contiguous unless said otherwise; a wrong shape, dtype or device throws pkb::Error with the call's name.
class Comm {
 public:
  virtual ~Comm() = default;
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  virtual int rank() const = 0;  ///< index within this group
  virtual int size() const = 0;

  virtual void all_reduce(at::Tensor& tensor, ReduceOp op = ReduceOp::sum) = 0;
  virtual void reduce(at::Tensor& tensor, int dst,
                      ReduceOp op = ReduceOp::sum) = 0;  ///< result on dst, else unspecified
  virtual void broadcast(at::Tensor& tensor, int src) = 0;
  virtual void all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) = 0;
  virtual void all_gather(std::vector<at::Tensor>& outputs,
                          const at::Tensor& input) = 0;  ///< shapes may differ by rank
  virtual void reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op = ReduceOp::sum) = 0;
  virtual void scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs,
                       int src) = 0;  ///< inputs: on src only
  virtual void gather(std::vector<at::Tensor>& outputs, const at::Tensor& input,
                      int dst) = 0;  ///< outputs: on dst only
  /// Rows of axis 0; empty splits: equal parts.
  virtual void all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                 const std::vector<int64_t>& output_splits = {},
                                 const std::vector<int64_t>& input_splits = {}) = 0;
  [[nodiscard]] virtual std::unique_ptr<Work> start_all_to_all_single(
      at::Tensor& output, const at::Tensor& input, const std::vector<int64_t>& output_splits = {},
      const std::vector<int64_t>& input_splits = {}) = 0;
  virtual void all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) = 0;

  /// torch.distributed.batch_isend_irecv: all start together, and are done (in stream order) on return. Peers are group
  /// ranks.
  struct P2p {
    enum class Kind { send, receive } kind;
    at::Tensor tensor;
    int peer;
  };
  virtual void batch_send_receive(std::vector<P2p>& operations) = 0;
  [[nodiscard]] virtual std::unique_ptr<Work> start_batch_send_receive(std::vector<P2p>& operations) = 0;

  virtual void barrier() = 0;

  /// This communicator, for counts and addresses that later exchanges depend on. Controls that take data away (`mute`)
  /// leave what goes through it alone, so that the ranks stay in step.
  virtual Comm& sizes() { return *this; }

  /// The group of this name that this rank is in ("world" is the whole team). Throws pkb::Error for an unknown name.
  virtual Comm& group(std::string_view name) = 0;
};

/// A tensor, a list of tensors, or nothing (absent on this rank).
using Value = std::variant<std::monostate, at::Tensor, std::vector<at::Tensor>>;

/// Arguments of one call. Every accessor throws pkb::Error naming the argument that is missing or of another kind.
class Inputs {
 public:
  const at::Tensor& operator[](std::string_view name) const;         ///< a tensor that must be present
  std::optional<at::Tensor> optional(std::string_view name) const;   ///< an optional tensor
  const std::vector<at::Tensor>& list(std::string_view name) const;  ///< a list of tensors
  int64_t param(std::string_view name) const;                        ///< a parameter of the problem, or W, or r
  double real_param(std::string_view name) const;
  int64_t integer(std::string_view name) const;  ///< scalars
  double real(std::string_view name) const;
  bool boolean(std::string_view name) const;
  const std::string& string(std::string_view name) const;  ///< also the name of a group
  const IntegerList& integers(std::string_view name) const;
  bool is_null(std::string_view name) const;
  bool has_scalar(std::string_view name) const;

  std::map<std::string, Value, std::less<>> tensors;
  std::map<std::string, double, std::less<>> params;
  std::map<std::string, Scalar, std::less<>> scalars;
};

/// Named results in any order; an output that is absent on this rank is left out. In-place outputs need not be
/// returned: the harness takes the argument's tensor when the name is missing.
using Outputs = std::map<std::string, Value, std::less<>>;

using ReferenceFunction = Outputs (*)(const Inputs&, Comm&);

struct Baseline {
  const char* name;
  ReferenceFunction run;
};

/// What no comparison of elements says: conditions across outputs and ranks, and outputs with `compare: check` in the
/// catalogue. `got` are the candidate's outputs on this rank (anything may stand there: check before you index with
/// it), `expected` the answer's, both as declared. Collective. Returns what is wrong ("the labels of row 3 are not
/// distinct"); empty: nothing.
using CheckFunction = std::string (*)(const Inputs& in, const Outputs& got, const Outputs& expected, Comm& comm);

struct Reference {
  std::vector<Baseline> baselines;       ///< what is timed; the speed-up is against the fastest
  ReferenceFunction expected = nullptr;  ///< null: the first baseline defines the answer
  CheckFunction check = nullptr;         ///< null: the comparison of elements says it all
};

/// Every reference exports this symbol.
using ReferenceEntry = const Reference* (*)();
inline constexpr const char* kReferenceSymbol = "pkb_reference";

}  // namespace pkb

/// PKB_REFERENCE(f): one baseline, which also defines the answer. For more, define pkb_reference() by hand.
#define PKB_REFERENCE(function)                                                             \
  extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() { \
    static const pkb::Reference reference{{{#function, function}}, nullptr};                \
    return &reference;                                                                      \
  }
