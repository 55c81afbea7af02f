// SPDX-License-Identifier: Apache-2.0
//
// The reference's Comm for the controls `mute` and `partial`: every exchange is real, so that the ranks stay in step,
// but what came from the ranks that are not heard is taken away again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/problem.h"
#include "pkb/reference.h"

namespace pkb {

class DeafComm final : public Comm {
 public:
  static constexpr int kEverybodyElse = -1;

  /// `members`: world ranks of `real`. `unheard`: a world rank, or kEverybodyElse; a rank always hears itself.
  DeafComm(Comm& real, const std::vector<GroupInstance>& groups, std::vector<int> members, int unheard)
      : real_(real), groups_(groups), members_(std::move(members)), unheard_(unheard) {}

  int rank() const override { return real_.rank(); }
  int size() const override { return real_.size(); }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void reduce(at::Tensor& tensor, int dst, ReduceOp op) override;
  void broadcast(at::Tensor& tensor, int src) override;
  void all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) override;
  void all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) override;
  void reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) override;
  void scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) override;
  void gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) override;
  void all_to_all_single(at::Tensor& output, const at::Tensor& input, const std::vector<int64_t>& output_splits,
                         const std::vector<int64_t>& input_splits) override;
  std::unique_ptr<Work> start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                const std::vector<int64_t>& output_splits,
                                                const std::vector<int64_t>& input_splits) override;
  void all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) override;
  void batch_send_receive(std::vector<P2p>& operations) override;
  std::unique_ptr<Work> start_batch_send_receive(std::vector<P2p>& operations) override;
  void barrier() override { real_.barrier(); }
  Comm& group(std::string_view name) override;
  Comm& sizes() override { return real_; }

 private:
  bool hears(int member) const;
  /// Parts of equal size along axis 0, one a member: those of unheard members become zero.
  void forget_parts(at::Tensor& tensor) const;
  void forget_parts(at::Tensor& tensor, const std::vector<int64_t>& splits) const;
  void forget_entries(std::vector<at::Tensor>& tensors) const;
  /// Every member's tensor, without the unheard ones, reduced.
  at::Tensor reduced(const at::Tensor& tensor, ReduceOp op);

  Comm& real_;
  const std::vector<GroupInstance>& groups_;
  std::vector<int> members_;
  int unheard_;
  std::map<std::string, std::unique_ptr<DeafComm>, std::less<>> made_;
};

}  // namespace pkb
