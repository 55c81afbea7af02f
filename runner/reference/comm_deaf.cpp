// SPDX-License-Identifier: Apache-2.0
#include "reference/comm_deaf.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

namespace pkb {
namespace {

/// Does what is left to do once the exchange is done.
class ThenForget final : public Work {
 public:
  ThenForget(std::unique_ptr<Work> work, std::function<void()> forget)
      : work_(std::move(work)), forget_(std::move(forget)) {}
  ~ThenForget() override {
    try {
      wait();
    } catch (const std::exception&) {
      // Nobody has waited, because an error is on its way already.
    }
  }
  void wait() override {
    if (!work_) return;
    std::exchange(work_, nullptr)->wait();
    forget_();
  }

 private:
  std::unique_ptr<Work> work_;
  std::function<void()> forget_;
};

}  // namespace

bool DeafComm::hears(int member) const {
  if (member == real_.rank()) return true;
  return unheard_ != kEverybodyElse && members_[static_cast<std::size_t>(member)] != unheard_;
}

void DeafComm::forget_parts(at::Tensor& tensor) const {
  const at::Tensor parts = tensor.view({size(), -1});
  for (int member = 0; member < size(); ++member) {
    if (!hears(member)) parts[member].zero_();
  }
}

void DeafComm::forget_parts(at::Tensor& tensor, const std::vector<int64_t>& splits) const {
  if (tensor.numel() == 0) return;
  if (splits.empty()) return forget_parts(tensor);
  int64_t first = 0;
  for (int member = 0; member < size(); ++member) {
    const int64_t rows = splits[static_cast<std::size_t>(member)];
    if (!hears(member)) tensor.narrow(0, first, rows).zero_();
    first += rows;
  }
}

void DeafComm::forget_entries(std::vector<at::Tensor>& tensors) const {
  for (int member = 0; member < size(); ++member) {
    if (!hears(member)) tensors[static_cast<std::size_t>(member)].zero_();
  }
}

at::Tensor DeafComm::reduced(const at::Tensor& tensor, ReduceOp op) {
  const int64_t elements = tensor.numel();
  if (elements == 0) return tensor.clone();
  at::Tensor all = at::empty({size() * elements}, tensor.options());
  real_.all_gather_into_tensor(all, tensor.view({-1}));
  std::vector<at::Tensor> heard;
  for (int member = 0; member < size(); ++member) {
    if (hears(member)) heard.push_back(all.narrow(0, member * elements, elements));
  }
  const at::Tensor rows = at::stack(heard);
  const auto reduce_rows = [&]() -> at::Tensor {
    switch (op) {
      case ReduceOp::sum:
        return rows.sum(at::IntArrayRef{0}, /*keepdim=*/false, rows.scalar_type());
      case ReduceOp::avg:
        return rows.sum(0).div_(static_cast<double>(size()));
      case ReduceOp::max:
        return rows.amax(0);
      case ReduceOp::min:
        return rows.amin(0);
      case ReduceOp::prod:
        return rows.prod(0, /*keepdim=*/false, rows.scalar_type());
    }
    return {};
  };
  return reduce_rows().view_as(tensor);
}

void DeafComm::all_reduce(at::Tensor& tensor, ReduceOp op) {
  tensor.copy_(reduced(tensor, op));
}

void DeafComm::reduce(at::Tensor& tensor, int dst, ReduceOp op) {
  const at::Tensor result = reduced(tensor, op);
  if (rank() == dst) tensor.copy_(result);
}

void DeafComm::broadcast(at::Tensor& tensor, int src) {
  real_.broadcast(tensor, src);
  if (!hears(src)) tensor.zero_();
}

void DeafComm::all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) {
  real_.all_gather_into_tensor(output, input);
  if (output.numel() > 0) forget_parts(output);
}

void DeafComm::all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  real_.all_gather(outputs, input);
  forget_entries(outputs);
}

void DeafComm::reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
  if (output.numel() == 0) return;
  output.copy_(reduced(input, op).view({size(), -1})[rank()].view_as(output));
}

void DeafComm::scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) {
  real_.scatter(output, inputs, src);
  if (!hears(src)) output.zero_();
}

void DeafComm::gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) {
  real_.gather(outputs, input, dst);
  if (rank() == dst) forget_entries(outputs);
}

void DeafComm::all_to_all_single(at::Tensor& output, const at::Tensor& input, const std::vector<int64_t>& output_splits,
                                 const std::vector<int64_t>& input_splits) {
  real_.all_to_all_single(output, input, output_splits, input_splits);
  forget_parts(output, output_splits);
}

std::unique_ptr<Work> DeafComm::start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                        const std::vector<int64_t>& output_splits,
                                                        const std::vector<int64_t>& input_splits) {
  return std::make_unique<ThenForget>(real_.start_all_to_all_single(output, input, output_splits, input_splits),
                                      [this, output, output_splits]() mutable { forget_parts(output, output_splits); });
}

void DeafComm::all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
  real_.all_to_all(outputs, inputs);
  forget_entries(outputs);
}

void DeafComm::batch_send_receive(std::vector<P2p>& operations) {
  start_batch_send_receive(operations)->wait();
}

std::unique_ptr<Work> DeafComm::start_batch_send_receive(std::vector<P2p>& operations) {
  std::vector<at::Tensor> unheard;
  for (const P2p& operation : operations) {
    if (operation.kind == P2p::Kind::receive && !hears(operation.peer)) unheard.push_back(operation.tensor);
  }
  return std::make_unique<ThenForget>(real_.start_batch_send_receive(operations), [unheard] {
    for (const at::Tensor& tensor : unheard) tensor.zero_();
  });
}

Comm& DeafComm::group(std::string_view name) {
  if (const auto made = made_.find(name); made != made_.end()) return *made->second;
  Comm& real = real_.group(name);
  const auto known =
      std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) { return group.name == name; });
  std::vector<int> members = known == groups_.end() ? members_ : known->members;
  return *made_.emplace(std::string(name), std::make_unique<DeafComm>(real, groups_, std::move(members), unheard_))
              .first->second;
}

}  // namespace pkb
