// SPDX-License-Identifier: Apache-2.0
//
// Comm behind the scenes: arguments are checked once, here; a back end (MPI, NCCL) only moves data.
#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/problem.h"
#include "pkb/reference.h"

namespace pkb {

class CommGroups;

/// One communicator. The public verbs check their arguments and call the `do_` verb of the back end, which may rely on
/// defined, contiguous tensors of equal dtype and fitting sizes where it can work.
class CheckedComm : public Comm {
 public:
  CheckedComm(CommGroups& groups, int rank, int size) : groups_(groups), rank_(rank), size_(size) {}

  int rank() const final { return rank_; }
  int size() const final { return size_; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) final;
  void reduce(at::Tensor& tensor, int dst, ReduceOp op) final;
  void broadcast(at::Tensor& tensor, int src) final;
  void all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) final;
  void all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) final;
  void reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) final;
  void scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) final;
  void gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) final;
  void all_to_all_single(at::Tensor& output, const at::Tensor& input, const std::vector<int64_t>& output_splits,
                         const std::vector<int64_t>& input_splits) final;
  std::unique_ptr<Work> start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                const std::vector<int64_t>& output_splits,
                                                const std::vector<int64_t>& input_splits) final;
  void all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) final;
  void batch_send_receive(std::vector<P2p>& operations) final;
  std::unique_ptr<Work> start_batch_send_receive(std::vector<P2p>& operations) final;
  void barrier() final { do_barrier(); }
  Comm& group(std::string_view name) final;

 protected:
  /// Why this back end cannot work on such a tensor; null: it can.
  virtual const char* why_not(const at::Tensor& tensor) const = 0;
  virtual void do_all_reduce(at::Tensor& tensor, ReduceOp op) = 0;
  virtual void do_reduce(at::Tensor& tensor, int dst, ReduceOp op) = 0;
  virtual void do_broadcast(at::Tensor& tensor, int src) = 0;
  virtual void do_all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) = 0;
  virtual void do_all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) = 0;
  virtual void do_reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) = 0;
  virtual void do_scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) = 0;
  virtual void do_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) = 0;
  /// Splits are empty (equal parts on that side) or one number of rows a member.
  virtual void do_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                    const std::vector<int64_t>& output_splits,
                                    const std::vector<int64_t>& input_splits) = 0;
  virtual std::unique_ptr<Work> do_start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                           const std::vector<int64_t>& output_splits,
                                                           const std::vector<int64_t>& input_splits) = 0;
  virtual void do_all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) = 0;
  /// May be given no operation at all.
  virtual std::unique_ptr<Work> do_start_batch_send_receive(std::vector<P2p>& operations) = 0;
  virtual void do_barrier() = 0;

 private:
  void check(const char* call, const char* what, const at::Tensor& tensor) const;
  void check_pair(const char* call, const at::Tensor& output, const at::Tensor& input) const;
  void check_reduction(const char* call, const at::Tensor& tensor, ReduceOp op) const;
  void check_member(const char* call, const char* what, int member) const;
  void check_list(const char* call, const char* what, const std::vector<at::Tensor>& list,
                  const at::Tensor& other) const;
  void check_splits(const char* call, const char* what, const at::Tensor& tensor,
                    const std::vector<int64_t>& splits) const;
  void check_all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                               const std::vector<int64_t>& output_splits,
                               const std::vector<int64_t>& input_splits) const;

  CommGroups& groups_;
  int rank_ = 0, size_ = 1;
};

/// All communicators of a job: one for every distinct list of ranks, made when it is first asked for (by all of its
/// members) and kept until the end.
class CommGroups {
 public:
  /// Makes the communicator of these world ranks; `index` is this rank's place among them.
  using Make =
      std::function<std::unique_ptr<CheckedComm>(CommGroups& groups, const std::vector<int>& members, int index)>;

  CommGroups(int rank, int size, Make make);  ///< collective: makes the world's
  ~CommGroups();                              ///< collective: the newest first
  CommGroups(const CommGroups&) = delete;
  CommGroups& operator=(const CommGroups&) = delete;

  Comm& world() { return *comms_.front().comm; }
  /// The groups of the present problem on this rank.
  void name_groups(const std::vector<GroupInstance>& groups);
  Comm& by_name(std::string_view name);

 private:
  struct Entry {
    std::vector<int> members;
    std::unique_ptr<CheckedComm> comm;
  };
  CheckedComm& of_members(const std::vector<int>& members);

  int rank_ = 0;
  Make make_;
  std::vector<Entry> comms_;  ///< in order of creation
  std::map<std::string, std::vector<int>, std::less<>> named_;
};

/// Through MPI: CPU tensors, and CUDA tensors staged through pinned host memory. Duplicates the communicator.
std::unique_ptr<CommGroups> make_mpi_groups(MPI_Comm communicator);

}  // namespace pkb
