// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "reference/comm.h"
#include "reference/tensors.h"

namespace pkb {
namespace {

[[noreturn]] void refuse(const char* call, const std::string& what) {
  throw Error("Comm::" + std::string(call) + ": " + what);
}

}  // namespace

void CheckedComm::check(const char* call, const char* what, const at::Tensor& tensor) const {
  if (!tensor.defined()) refuse(call, std::string(what) + " is an undefined tensor");
  if (!tensor.is_contiguous()) refuse(call, std::string(what) + ", " + describe(tensor) + ", is not contiguous");
  if (const char* why = why_not(tensor)) refuse(call, std::string(what) + ", " + describe(tensor) + ": " + why);
}

void CheckedComm::check_pair(const char* call, const at::Tensor& output, const at::Tensor& input) const {
  check(call, "output", output);
  check(call, "input", input);
  if (output.scalar_type() == input.scalar_type() && output.device() == input.device()) return;
  refuse(call, "output, " + describe(output) + ", and input, " + describe(input) + ", must have one dtype and device");
}

void CheckedComm::check_reduction(const char* call, const at::Tensor& tensor, ReduceOp op) const {
  const at::ScalarType type = tensor.scalar_type();
  if (type == at::kFloat8_e4m3fn) refuse(call, "fp8 cannot be reduced; convert to a wider type first");
  if (op == ReduceOp::avg && !at::isFloatingType(type) && !at::isComplexType(type)) {
    refuse(call, "avg needs a floating type, not " + describe(tensor));
  }
  if (at::isComplexType(type) && op != ReduceOp::sum && op != ReduceOp::avg) {
    refuse(call, "complex numbers can be summed and averaged only");
  }
}

void CheckedComm::check_member(const char* call, const char* what, int member) const {
  if (member >= 0 && member < size_) return;
  refuse(call,
         std::string(what) + " is " + std::to_string(member) + "; the group has ranks 0.." + std::to_string(size_ - 1));
}

void CheckedComm::check_list(const char* call, const char* what, const std::vector<at::Tensor>& list,
                             const at::Tensor& other) const {
  if (list.size() != static_cast<std::size_t>(size_)) {
    refuse(call, std::to_string(list.size()) + " " + what + " for a group of " + std::to_string(size_));
  }
  for (const at::Tensor& tensor : list) {
    check(call, what, tensor);
    if (tensor.scalar_type() != other.scalar_type() || tensor.device() != other.device()) {
      refuse(call,
             std::string(what) + ", " + describe(tensor) + ", must have the dtype and device of " + describe(other));
    }
  }
  const at::Tensor& own = list[static_cast<std::size_t>(rank_)];
  if (own.numel() != other.numel()) {
    refuse(call, "the own entry of the " + std::string(what) + ", " + describe(own) + ", must be as large as " +
                     describe(other));
  }
}

void CheckedComm::check_splits(const char* call, const char* what, const at::Tensor& tensor,
                               const std::vector<int64_t>& splits) const {
  const int64_t rows = tensor.dim() == 0 ? -1 : tensor.size(0);
  if (rows < 0) refuse(call, std::string(what) + " has no axis 0 to split");
  if (splits.empty()) {
    if (rows % size_ == 0) return;
    refuse(call, std::string(what) + ", " + describe(tensor) + ": axis 0 does not divide into " +
                     std::to_string(size_) + " equal parts");
  }
  if (splits.size() != static_cast<std::size_t>(size_)) {
    refuse(call, std::to_string(splits.size()) + " splits of " + what + " for a group of " + std::to_string(size_));
  }
  const bool negative = std::any_of(splits.begin(), splits.end(), [](int64_t split) { return split < 0; });
  const int64_t sum = std::accumulate(splits.begin(), splits.end(), int64_t{0});
  if (negative || sum != rows) {
    refuse(call, "the splits " + shape_text(splits) + " of " + what + " must add up to its " + std::to_string(rows) +
                     " rows");
  }
}

void CheckedComm::all_reduce(at::Tensor& tensor, ReduceOp op) {
  check("all_reduce", "tensor", tensor);
  check_reduction("all_reduce", tensor, op);
  do_all_reduce(tensor, op);
}

void CheckedComm::reduce(at::Tensor& tensor, int dst, ReduceOp op) {
  check("reduce", "tensor", tensor);
  check_reduction("reduce", tensor, op);
  check_member("reduce", "dst", dst);
  do_reduce(tensor, dst, op);
}

void CheckedComm::broadcast(at::Tensor& tensor, int src) {
  check("broadcast", "tensor", tensor);
  check_member("broadcast", "src", src);
  do_broadcast(tensor, src);
}

void CheckedComm::all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) {
  constexpr const char* kCall = "all_gather_into_tensor";
  check_pair(kCall, output, input);
  if (output.numel() != input.numel() * size_) {
    refuse(kCall,
           "output, " + describe(output) + ", must be " + std::to_string(size_) + " times input, " + describe(input));
  }
  do_all_gather_into_tensor(output, input);
}

void CheckedComm::all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  check("all_gather", "input", input);
  check_list("all_gather", "outputs", outputs, input);
  do_all_gather(outputs, input);
}

void CheckedComm::reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
  constexpr const char* kCall = "reduce_scatter_tensor";
  check_pair(kCall, output, input);
  check_reduction(kCall, output, op);
  if (input.numel() != output.numel() * size_) {
    refuse(kCall,
           "input, " + describe(input) + ", must be " + std::to_string(size_) + " times output, " + describe(output));
  }
  do_reduce_scatter_tensor(output, input, op);
}

void CheckedComm::scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) {
  check("scatter", "output", output);
  check_member("scatter", "src", src);
  if (rank_ == src) {
    check_list("scatter", "inputs", inputs, output);
  } else if (!inputs.empty()) {
    refuse("scatter", "only rank " + std::to_string(src) + " passes inputs");
  }
  do_scatter(output, inputs, src);
}

void CheckedComm::gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) {
  check("gather", "input", input);
  check_member("gather", "dst", dst);
  if (rank_ == dst) {
    check_list("gather", "outputs", outputs, input);
  } else if (!outputs.empty()) {
    refuse("gather", "only rank " + std::to_string(dst) + " passes outputs");
  }
  do_gather(outputs, input, dst);
}

void CheckedComm::check_all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                                          const std::vector<int64_t>& output_splits,
                                          const std::vector<int64_t>& input_splits) const {
  constexpr const char* kCall = "all_to_all_single";
  check_pair(kCall, output, input);
  check_splits(kCall, "output", output, output_splits);
  check_splits(kCall, "input", input, input_splits);
  if (output.size(0) > 0 && input.size(0) > 0 && output.numel() / output.size(0) != input.numel() / input.size(0)) {
    refuse(kCall, "rows of output, " + describe(output) + ", and of input, " + describe(input) + ", differ in size");
  }
}

void CheckedComm::all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                    const std::vector<int64_t>& output_splits,
                                    const std::vector<int64_t>& input_splits) {
  check_all_to_all_single(output, input, output_splits, input_splits);
  do_all_to_all_single(output, input, output_splits, input_splits);
}

std::unique_ptr<Work> CheckedComm::start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                           const std::vector<int64_t>& output_splits,
                                                           const std::vector<int64_t>& input_splits) {
  check_all_to_all_single(output, input, output_splits, input_splits);
  return do_start_all_to_all_single(output, input, output_splits, input_splits);
}

void CheckedComm::all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
  if (inputs.size() != static_cast<std::size_t>(size_)) {
    refuse("all_to_all", std::to_string(inputs.size()) + " inputs for a group of " + std::to_string(size_));
  }
  const at::Tensor& own = inputs[static_cast<std::size_t>(rank_)];
  check("all_to_all", "inputs", own);
  check_list("all_to_all", "inputs", inputs, own);
  check_list("all_to_all", "outputs", outputs, own);
  do_all_to_all(outputs, inputs);
}

void CheckedComm::batch_send_receive(std::vector<P2p>& operations) {
  start_batch_send_receive(operations)->wait();
}

std::unique_ptr<Work> CheckedComm::start_batch_send_receive(std::vector<P2p>& operations) {
  for (const P2p& operation : operations) {
    check("batch_send_receive", "tensor", operation.tensor);
    check_member("batch_send_receive", "peer", operation.peer);
  }
  return do_start_batch_send_receive(operations);
}

Comm& CheckedComm::group(std::string_view name) {
  return groups_.by_name(name);
}

CommGroups::CommGroups(int rank, int size, Make make) : rank_(rank), make_(std::move(make)) {
  std::vector<int> world(static_cast<std::size_t>(size));
  std::iota(world.begin(), world.end(), 0);
  of_members(world);
}

CommGroups::~CommGroups() {
  while (!comms_.empty()) comms_.pop_back();
}

void CommGroups::name_groups(const std::vector<GroupInstance>& groups) {
  named_.clear();
  for (const GroupInstance& group : groups) named_[group.name] = group.members;
}

Comm& CommGroups::by_name(std::string_view name) {
  const auto found = named_.find(name);
  if (found != named_.end()) return of_members(found->second);
  if (name == "world") return world();
  std::string known = "world";
  for (const auto& [other, members] : named_) known += other == "world" ? "" : ", " + other;
  throw Error("Comm::group: no group \"" + std::string(name) + "\"; this problem has " + known);
}

CheckedComm& CommGroups::of_members(const std::vector<int>& members) {
  for (const Entry& entry : comms_) {
    if (entry.members == members) return *entry.comm;
  }
  const auto self = std::find(members.begin(), members.end(), rank_);
  if (self == members.end()) {
    throw Error("Comm::group: rank " + std::to_string(rank_) + " is not in its own group");
  }
  comms_.push_back({members, make_(*this, members, static_cast<int>(self - members.begin()))});
  return *comms_.back().comm;
}

}  // namespace pkb
