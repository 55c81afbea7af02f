// SPDX-License-Identifier: Apache-2.0
//
// Comm over MPI. Every verb is a set of non-blocking point-to-point messages on one private communicator, polled with
// short sleeps, so that a rank that waits leaves its core to the others. Sums are added in rank order, so that all
// ranks get the same bits; bf16 and fp16 are added in fp32 and rounded once. Values travel as bytes, whatever their
// type.
#include <c10/core/impl/VirtualGuardImpl.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "core/error.h"
#include "reference/comm.h"
#include "reference/tensors.h"

namespace pkb {
namespace {

/// A duplicate of its own, so that references' messages meet no others.
class PrivateCommunicator {
 public:
  explicit PrivateCommunicator(MPI_Comm original) {
    MPI_Comm_dup(original, &communicator_);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  ~PrivateCommunicator() { MPI_Comm_free(&communicator_); }
  PrivateCommunicator(const PrivateCommunicator&) = delete;
  PrivateCommunicator& operator=(const PrivateCommunicator&) = delete;
  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

std::string mpi_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

/// The messages of one call: all started, then awaited together.
class Exchange {
 public:
  Exchange(MPI_Comm communicator, const std::vector<int>& members, const char* call)
      : communicator_(communicator), members_(members), call_(call) {}

  void send(const at::Tensor& from, int member) {
    in_pieces(from, [&](char* data, int bytes) {
      requests_.emplace_back();
      check(MPI_Isend(data, bytes, MPI_BYTE, world_rank(member), 0, communicator_, &requests_.back()), member);
      messages_.push_back({member, -1});
    });
  }

  void receive(const at::Tensor& into, int member) {
    in_pieces(into, [&](char* data, int bytes) {
      requests_.emplace_back();
      check(MPI_Irecv(data, bytes, MPI_BYTE, world_rank(member), 0, communicator_, &requests_.back()), member);
      messages_.push_back({member, bytes});
    });
  }

  void wait() {
    std::vector<MPI_Status> statuses(requests_.size());
    int done = 0, code = MPI_SUCCESS;
    for (int round = 0;; ++round) {
      code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses.data());
      if (done != 0 || code != MPI_SUCCESS) break;
      pause(round);
    }
    for (std::size_t i = 0; i < messages_.size(); ++i) judge(messages_[i], statuses[i], code);
    if (code != MPI_SUCCESS) throw Error("Comm::" + std::string(call_) + ": " + mpi_text(code));
    requests_.clear();
    messages_.clear();
  }

 private:
  struct Message {
    int member;
    int expected_bytes;  ///< -1: sent
  };
  static constexpr int64_t kPiece = int64_t{1} << 30;  // MPI counts with int
  static constexpr int kPatientRounds = 50;

  static void pause(int round) {
    if (round < kPatientRounds) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  template <class Start>
  static void in_pieces(const at::Tensor& tensor, Start start) {
    char* data = static_cast<char*>(tensor.data_ptr());
    const int64_t bytes = static_cast<int64_t>(tensor.nbytes());
    for (int64_t first = 0; first < bytes; first += kPiece) {
      start(data + first, static_cast<int>(std::min(kPiece, bytes - first)));
    }
  }

  int world_rank(int member) const { return members_[static_cast<std::size_t>(member)]; }

  void check(int code, int member) const {
    if (code == MPI_SUCCESS) return;
    throw Error("Comm::" + std::string(call_) + ": message with rank " + std::to_string(member) + ": " +
                mpi_text(code));
  }

  void judge(const Message& message, const MPI_Status& status, int code) const {
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING) {
      check(status.MPI_ERROR, message.member);
    }
    if (code != MPI_SUCCESS || message.expected_bytes < 0) return;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes == message.expected_bytes) return;
    throw Error("Comm::" + std::string(call_) + ": rank " + std::to_string(message.member) + " sent " +
                std::to_string(bytes) + " bytes where " + std::to_string(message.expected_bytes) + " were expected");
  }

  MPI_Comm communicator_;
  const std::vector<int>& members_;
  const char* call_;
  std::vector<MPI_Request> requests_;
  std::vector<Message> messages_;
};

/// The tensors of one call in host memory: themselves on the CPU, pinned copies of CUDA tensors.
class Staging {
 public:
  /// Host memory with the tensor's values once `arrived` has been called.
  at::Tensor load(const at::Tensor& tensor) {
    if (!tensor.is_cuda()) return tensor;
    const at::Tensor host = room(tensor);
    host.copy_(tensor, /*non_blocking=*/true);
    device_ = tensor.device();
    return host;
  }

  /// Host memory of the tensor's shape; the values do not matter.
  static at::Tensor room(const at::Tensor& tensor) {
    return tensor.is_cuda() ? at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true)) : tensor;
  }

  void arrived() const {
    if (!device_) return;
    c10::impl::VirtualGuardImpl guard(device_->type());
    guard.getStream(*device_).synchronize();
  }

  /// Ordered on the current stream; LibTorch keeps the pinned memory until the copy is done.
  static void store(const at::Tensor& tensor, const at::Tensor& host) {
    if (tensor.is_cuda()) tensor.copy_(host, /*non_blocking=*/true);
  }

 private:
  std::optional<at::Device> device_;
};

/// Messages under way, with the host memory they come from and go to.
class PendingExchange final : public Work {
 public:
  PendingExchange(Exchange exchange, std::vector<at::Tensor> memory, std::function<void()> store)
      : exchange_(std::move(exchange)), memory_(std::move(memory)), store_(std::move(store)) {}
  ~PendingExchange() override {
    try {
      wait();
    } catch (const std::exception&) {
      // Nobody has waited, because an error is on its way already.
    }
  }
  void wait() override {
    if (!store_) return;
    const auto store = std::exchange(store_, nullptr);
    exchange_.wait();
    store();
    memory_.clear();
  }

 private:
  Exchange exchange_;
  std::vector<at::Tensor> memory_;
  std::function<void()> store_;  ///< what is left to do with what has arrived; empty: done
};

void combine(at::Tensor& sum, const at::Tensor& next, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      sum.add_(next);
      break;
    case ReduceOp::prod:
      sum.mul_(next);
      break;
    case ReduceOp::max:
      at::maximum_out(sum, sum, next);
      break;
    case ReduceOp::min:
      at::minimum_out(sum, sum, next);
      break;
  }
}

/// Rows of `pieces` (one a member) reduced in member order.
at::Tensor reduce_rows(const at::Tensor& pieces, ReduceOp op) {
  const at::ScalarType type = pieces.scalar_type();
  const bool narrow = type == at::kBFloat16 || type == at::kHalf;
  at::Tensor sum = narrow ? pieces[0].to(at::kFloat) : pieces[0].clone();
  for (int64_t row = 1; row < pieces.size(0); ++row) {
    // max and min want one dtype; the others convert as they go.
    combine(sum, op == ReduceOp::max || op == ReduceOp::min ? pieces[row].to(sum.scalar_type()) : pieces[row], op);
  }
  if (op == ReduceOp::avg) sum.div_(static_cast<double>(pieces.size(0)));
  return narrow ? sum.to(type) : sum;
}

class MpiComm final : public CheckedComm {
 public:
  MpiComm(CommGroups& groups, std::shared_ptr<const PrivateCommunicator> communicator, std::vector<int> members,
          int index)
      : CheckedComm(groups, index, static_cast<int>(members.size())),
        communicator_(std::move(communicator)),
        members_(std::move(members)) {}

 protected:
  const char* why_not(const at::Tensor& tensor) const override {
    return tensor.is_cpu() || tensor.is_cuda() ? nullptr : "MPI carries CPU and CUDA tensors only";
  }

  void do_all_reduce(at::Tensor& tensor, ReduceOp op) override {
    Staging staging;
    const at::Tensor flat = staging.load(tensor).view(-1);
    staging.arrived();
    const at::Tensor own = reduce_own_slice(flat, op, "all_reduce");
    Exchange exchange = start("all_reduce");
    slice(flat, rank()).copy_(own);
    each_peer([&](int peer) {
      exchange.send(own, peer);
      exchange.receive(slice(flat, peer), peer);
    });
    exchange.wait();
    Staging::store(tensor, flat.view(tensor.sizes()));
  }

  void do_reduce(at::Tensor& tensor, int dst, ReduceOp op) override {
    Staging staging;
    const at::Tensor flat = staging.load(tensor).view(-1);
    staging.arrived();
    const at::Tensor own = reduce_own_slice(flat, op, "reduce");
    Exchange exchange = start("reduce");
    if (rank() != dst) {
      exchange.send(own, dst);
      exchange.wait();
      return;
    }
    slice(flat, dst).copy_(own);
    each_peer([&](int peer) { exchange.receive(slice(flat, peer), peer); });
    exchange.wait();
    Staging::store(tensor, flat.view(tensor.sizes()));
  }

  void do_broadcast(at::Tensor& tensor, int src) override {
    Staging staging;
    const at::Tensor host = rank() == src ? staging.load(tensor) : Staging::room(tensor);
    staging.arrived();
    Exchange exchange = start("broadcast");
    if (rank() == src) {
      each_peer([&](int peer) { exchange.send(host, peer); });
    } else {
      exchange.receive(host, src);
    }
    exchange.wait();
    if (rank() != src) Staging::store(tensor, host);
  }

  void do_all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) override {
    const at::Tensor rows = output.view({size(), input.numel()});
    std::vector<at::Tensor> outputs = rows.unbind(0);
    gather_all(outputs, input.view(-1), "all_gather_into_tensor");
  }

  void do_all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) override {
    gather_all(outputs, input, "all_gather");
  }

  void do_reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    Staging staging;
    const at::Tensor rows = staging.load(input).view({size(), output.numel()});
    staging.arrived();
    const at::Tensor pieces = at::empty_like(rows);
    Exchange exchange = start("reduce_scatter_tensor");
    pieces[rank()].copy_(rows[rank()]);
    each_peer([&](int peer) {
      exchange.send(rows[peer], peer);
      exchange.receive(pieces[peer], peer);
    });
    exchange.wait();
    output.copy_(reduce_rows(pieces, op).view(output.sizes()));
  }

  void do_scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) override {
    Exchange exchange = start("scatter");
    if (rank() != src) {
      const at::Tensor host = Staging::room(output);
      exchange.receive(host, src);
      exchange.wait();
      Staging::store(output, host);
      return;
    }
    Staging staging;
    const std::vector<at::Tensor> hosts = load_peers(staging, inputs);
    staging.arrived();
    each_peer([&](int peer) { exchange.send(hosts[static_cast<std::size_t>(peer)], peer); });
    exchange.wait();
    copy_own(output, inputs[static_cast<std::size_t>(rank())]);
  }

  void do_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) override {
    Exchange exchange = start("gather");
    if (rank() != dst) {
      Staging staging;
      const at::Tensor host = staging.load(input);
      staging.arrived();
      exchange.send(host, dst);
      exchange.wait();
      return;
    }
    const std::vector<at::Tensor> hosts = rooms(outputs);
    each_peer([&](int peer) { exchange.receive(hosts[static_cast<std::size_t>(peer)], peer); });
    exchange.wait();
    store_peers(outputs, hosts);
    copy_own(outputs[static_cast<std::size_t>(rank())], input);
  }

  void do_all_to_all_single(at::Tensor& output, const at::Tensor& input, const std::vector<int64_t>& output_splits,
                            const std::vector<int64_t>& input_splits) override {
    do_start_all_to_all_single(output, input, output_splits, input_splits)->wait();
  }

  std::unique_ptr<Work> do_start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                   const std::vector<int64_t>& output_splits,
                                                   const std::vector<int64_t>& input_splits) override {
    return start_exchange(split(output, output_splits), split(input, input_splits), "all_to_all_single");
  }

  void do_all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) override {
    start_exchange(outputs, inputs, "all_to_all")->wait();
  }

  std::unique_ptr<Work> do_start_batch_send_receive(std::vector<P2p>& operations) override {
    Staging staging;
    std::vector<at::Tensor> hosts;
    for (const P2p& operation : operations) {
      hosts.push_back(operation.kind == P2p::Kind::send ? staging.load(operation.tensor)
                                                        : Staging::room(operation.tensor));
    }
    staging.arrived();
    Exchange exchange = start("batch_send_receive");
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind == P2p::Kind::send) {
        exchange.send(hosts[i], operations[i].peer);
      } else {
        exchange.receive(hosts[i], operations[i].peer);
      }
    }
    return std::make_unique<PendingExchange>(std::move(exchange), hosts, [operations, hosts] {
      for (std::size_t i = 0; i < operations.size(); ++i) {
        if (operations[i].kind == P2p::Kind::receive) Staging::store(operations[i].tensor, hosts[i]);
      }
    });
  }

  void do_barrier() override {
    const at::Tensor token = at::zeros({1}, at::kByte), tokens = at::empty({size()}, at::kByte);
    Exchange exchange = start("barrier");
    each_peer([&](int peer) {
      exchange.send(token, peer);
      exchange.receive(tokens[peer], peer);
    });
    exchange.wait();
  }

 private:
  Exchange start(const char* call) const { return Exchange(communicator_->get(), members_, call); }

  /// Peers in an order that spreads the traffic: rank + 1, rank + 2, ...
  template <class Visit>
  void each_peer(Visit visit) const {
    for (int step = 1; step < size(); ++step) visit((rank() + step) % size());
  }

  at::Tensor slice(const at::Tensor& flat, int member) const {
    const int64_t first = flat.numel() * member / size();
    return flat.narrow(0, first, flat.numel() * (member + 1) / size() - first);
  }

  /// Member m reduces slice m of everybody's tensor.
  at::Tensor reduce_own_slice(const at::Tensor& flat, ReduceOp op, const char* call) const {
    const at::Tensor mine = slice(flat, rank());
    const at::Tensor pieces = at::empty({size(), mine.numel()}, mine.options());
    pieces[rank()].copy_(mine);
    Exchange exchange = start(call);
    each_peer([&](int peer) {
      exchange.send(slice(flat, peer), peer);
      exchange.receive(pieces[peer], peer);
    });
    exchange.wait();
    return reduce_rows(pieces, op);
  }

  void gather_all(std::vector<at::Tensor>& outputs, const at::Tensor& input, const char* call) const {
    Staging staging;
    const at::Tensor host = staging.load(input);
    staging.arrived();
    const std::vector<at::Tensor> hosts = rooms(outputs);
    Exchange exchange = start(call);
    each_peer([&](int peer) {
      exchange.send(host, peer);
      exchange.receive(hosts[static_cast<std::size_t>(peer)], peer);
    });
    exchange.wait();
    store_peers(outputs, hosts);
    copy_own(outputs[static_cast<std::size_t>(rank())], input);
  }

  std::unique_ptr<Work> start_exchange(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs,
                                       const char* call) const {
    Staging staging;
    std::vector<at::Tensor> from = load_peers(staging, inputs);
    staging.arrived();
    const std::vector<at::Tensor> into = rooms(outputs);
    Exchange exchange = start(call);
    each_peer([&](int peer) {
      exchange.send(from[static_cast<std::size_t>(peer)], peer);
      exchange.receive(into[static_cast<std::size_t>(peer)], peer);
    });
    copy_own(outputs[static_cast<std::size_t>(rank())], inputs[static_cast<std::size_t>(rank())]);
    return std::make_unique<PendingExchange>(std::move(exchange), std::move(from),
                                             [this, outputs, into] { store_peers(outputs, into); });
  }

  std::vector<at::Tensor> split(const at::Tensor& tensor, const std::vector<int64_t>& splits) const {
    if (splits.empty()) return tensor.view({size(), tensor.numel() / size()}).unbind(0);
    return tensor.split_with_sizes(splits, 0);
  }

  /// What stays on this rank is copied where it is; only peers' tensors pass through host memory.
  std::vector<at::Tensor> load_peers(Staging& staging, const std::vector<at::Tensor>& tensors) const {
    std::vector<at::Tensor> hosts(tensors.size());
    each_peer([&](int peer) {
      hosts[static_cast<std::size_t>(peer)] = staging.load(tensors[static_cast<std::size_t>(peer)]);
    });
    return hosts;
  }

  std::vector<at::Tensor> rooms(const std::vector<at::Tensor>& tensors) const {
    std::vector<at::Tensor> hosts(tensors.size());
    each_peer([&](int peer) {
      hosts[static_cast<std::size_t>(peer)] = Staging::room(tensors[static_cast<std::size_t>(peer)]);
    });
    return hosts;
  }

  void store_peers(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& hosts) const {
    each_peer([&](int peer) {
      Staging::store(tensors[static_cast<std::size_t>(peer)], hosts[static_cast<std::size_t>(peer)]);
    });
  }

  static void copy_own(const at::Tensor& output, const at::Tensor& input) {
    if (output.data_ptr() != input.data_ptr()) output.view(-1).copy_(input.view(-1));
  }

  std::shared_ptr<const PrivateCommunicator> communicator_;
  std::vector<int> members_;
};

}  // namespace

std::unique_ptr<CommGroups> make_mpi_groups(MPI_Comm communicator) {
  const auto own = std::make_shared<const PrivateCommunicator>(communicator);
  int rank = 0, size = 1;
  MPI_Comm_rank(own->get(), &rank);
  MPI_Comm_size(own->get(), &size);
  return std::make_unique<CommGroups>(rank, size,
                                      [own](CommGroups& groups, const std::vector<int>& members, int index) {
                                        return std::make_unique<MpiComm>(groups, own, members, index);
                                      });
}

}  // namespace pkb
