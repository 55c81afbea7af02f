// SPDX-License-Identifier: Apache-2.0
//
// Comm over LibTorch's own NCCL process group, called as torch.distributed calls it without async_op: on the current
// stream, the host does not wait. The only file that includes c10d. Built with a CUDA toolkit only.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <torch/csrc/distributed/c10d/NCCLUtils.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "core/error.h"
#include "reference/backend.h"
#include "reference/comm.h"

namespace pkb {
namespace {

using ProcessGroup = c10::intrusive_ptr<c10d::ProcessGroupNCCL>;
using NcclWork = c10::intrusive_ptr<c10d::Work>;
using Store = c10::intrusive_ptr<c10d::Store>;

c10d::ReduceOp::RedOpType reduce_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return c10d::ReduceOp::SUM;
    case ReduceOp::max:
      return c10d::ReduceOp::MAX;
    case ReduceOp::min:
      return c10d::ReduceOp::MIN;
    case ReduceOp::prod:
      return c10d::ReduceOp::PRODUCT;
    case ReduceOp::avg:
      return c10d::ReduceOp::AVG;
  }
  throw Error("Comm: unknown reduction");
}

/// NCCL has no complex numbers; torch.distributed passes them as pairs.
at::Tensor as_pairs(const at::Tensor& tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

std::vector<at::Tensor> as_pairs(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> pairs;
  pairs.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) pairs.push_back(as_pairs(tensor));
  return pairs;
}

/// Calls without async_op return no work, or work that the current stream already waits for.
void finish(const NcclWork& work) {
  if (work) work->wait();
}

/// Runs on NCCL's own stream until it is waited for.
class PendingWork final : public Work {
 public:
  PendingWork(NcclWork work, std::vector<at::Tensor> tensors) : work_(std::move(work)), tensors_(std::move(tensors)) {}
  ~PendingWork() override {
    try {
      wait();
    } catch (const std::exception&) {
      // Nobody has waited, because an error is on its way already.
    }
  }
  void wait() override {
    finish(std::exchange(work_, {}));
    tensors_.clear();
  }

 private:
  NcclWork work_;
  std::vector<at::Tensor> tensors_;
};

template <class Options>
Options synchronous() {
  Options options;
  options.asyncOp = false;
  return options;
}

class NcclComm final : public CheckedComm {
 public:
  NcclComm(CommGroups& groups, ProcessGroup process_group, int ordinal)
      : CheckedComm(groups, process_group->getRank(), process_group->getSize()),
        process_group_(std::move(process_group)),
        ordinal_(ordinal),
        exceptions_(std::uncaught_exceptions()) {}

  ~NcclComm() override {
    try {
      // A regular shutdown waits for all members; one that an exception interrupts must not.
      if (std::uncaught_exceptions() > exceptions_) {
        process_group_->abort();
      } else {
        process_group_->shutdown();
      }
    } catch (const std::exception&) {
      // The job is ending; whatever broke the communicator has been reported where it happened.
    }
  }

 protected:
  const char* why_not(const at::Tensor& tensor) const override {
    return tensor.is_cuda() ? nullptr : "NCCL carries CUDA tensors only";
  }

  void do_all_reduce(at::Tensor& tensor, ReduceOp op) override {
    auto options = synchronous<c10d::AllreduceOptions>();
    options.reduceOp = reduce_op(op);
    std::vector<at::Tensor> tensors{as_pairs(tensor)};
    finish(process_group_->allreduce(tensors, options));
  }

  void do_reduce(at::Tensor& tensor, int dst, ReduceOp op) override {
    auto options = synchronous<c10d::ReduceOptions>();
    options.reduceOp = reduce_op(op);
    options.rootRank = dst;
    std::vector<at::Tensor> tensors{as_pairs(tensor)};
    finish(process_group_->reduce(tensors, options));
  }

  void do_broadcast(at::Tensor& tensor, int src) override {
    auto options = synchronous<c10d::BroadcastOptions>();
    options.rootRank = src;
    std::vector<at::Tensor> tensors{as_pairs(tensor)};
    finish(process_group_->broadcast(tensors, options));
  }

  void do_all_gather_into_tensor(at::Tensor& output, const at::Tensor& input) override {
    at::Tensor into = as_pairs(output), from = as_pairs(input);
    finish(process_group_->_allgather_base(into, from, synchronous<c10d::AllgatherOptions>()));
  }

  void do_all_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input) override {
    std::vector<std::vector<at::Tensor>> into{as_pairs(outputs)};
    std::vector<at::Tensor> from{as_pairs(input)};
    finish(process_group_->allgather(into, from, synchronous<c10d::AllgatherOptions>()));
  }

  void do_reduce_scatter_tensor(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    auto options = synchronous<c10d::ReduceScatterOptions>();
    options.reduceOp = reduce_op(op);
    at::Tensor into = as_pairs(output), from = as_pairs(input);
    finish(process_group_->_reduce_scatter_base(into, from, options));
  }

  void do_scatter(at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) override {
    auto options = synchronous<c10d::ScatterOptions>();
    options.rootRank = src;
    std::vector<at::Tensor> into{as_pairs(output)};
    std::vector<std::vector<at::Tensor>> from;
    if (rank() == src) from.push_back(as_pairs(inputs));
    finish(process_group_->scatter(into, from, options));
  }

  void do_gather(std::vector<at::Tensor>& outputs, const at::Tensor& input, int dst) override {
    auto options = synchronous<c10d::GatherOptions>();
    options.rootRank = dst;
    std::vector<std::vector<at::Tensor>> into;
    if (rank() == dst) into.push_back(as_pairs(outputs));
    std::vector<at::Tensor> from{as_pairs(input)};
    finish(process_group_->gather(into, from, options));
  }

  void do_all_to_all_single(at::Tensor& output, const at::Tensor& input, const std::vector<int64_t>& output_splits,
                            const std::vector<int64_t>& input_splits) override {
    at::Tensor into = as_pairs(output), from = as_pairs(input);
    std::vector<int64_t> into_splits = output_splits, from_splits = input_splits;
    finish(process_group_->alltoall_base(into, from, into_splits, from_splits, synchronous<c10d::AllToAllOptions>()));
  }

  std::unique_ptr<Work> do_start_all_to_all_single(at::Tensor& output, const at::Tensor& input,
                                                   const std::vector<int64_t>& output_splits,
                                                   const std::vector<int64_t>& input_splits) override {
    at::Tensor into = as_pairs(output), from = as_pairs(input);
    std::vector<int64_t> into_splits = output_splits, from_splits = input_splits;
    c10d::AllToAllOptions options;
    options.asyncOp = true;
    NcclWork work = process_group_->alltoall_base(into, from, into_splits, from_splits, options);
    return std::make_unique<PendingWork>(std::move(work), std::vector<at::Tensor>{output, input});
  }

  void do_all_to_all(std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) override {
    std::vector<at::Tensor> into = as_pairs(outputs), from = as_pairs(inputs);
    finish(process_group_->alltoall(into, from, synchronous<c10d::AllToAllOptions>()));
  }

  std::unique_ptr<Work> do_start_batch_send_receive(std::vector<P2p>& operations) override {
    std::vector<at::Tensor> kept;
    process_group_->startCoalescing();
    for (const P2p& operation : operations) {
      std::vector<at::Tensor> tensors{as_pairs(operation.tensor)};
      kept.push_back(operation.tensor);
      if (operation.kind == P2p::Kind::send) {
        process_group_->send(tensors, operation.peer, 0);
      } else {
        process_group_->recv(tensors, operation.peer, 0);
      }
    }
    return std::make_unique<PendingWork>(process_group_->endCoalescing(), std::move(kept));
  }

  void do_barrier() override {
    auto options = synchronous<c10d::BarrierOptions>();
    options.device_ids = {ordinal_};
    options.device = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(ordinal_));
    finish(process_group_->barrier(options));
  }

 private:
  ProcessGroup process_group_;
  int ordinal_ = 0;
  int exceptions_ = 0;
};

/// c10d's helper threads must neither end the job (pkb watches the reference itself) nor disturb what is timed. Read by
/// the process group when it is made; said by the environment alone.
void quiet_helper_threads() {
  static constexpr std::pair<const char*, const char*> kSettings[] = {
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},  // the watchdog reports, it does not abort
      {"TORCH_NCCL_ENABLE_MONITORING", "0"},  // no heartbeat monitor, which ends the process after minutes of silence
      {"TORCH_NCCL_DUMP_ON_TIMEOUT", "0"},    // no debugging dumps through the store
      {"TORCH_NCCL_PROPAGATE_ERROR", "0"},
      {"TORCH_NCCL_RETHROW_CUDA_ERRORS", "0"},
      {"TORCH_NCCL_DESYNC_DEBUG", "0"},
      {"TORCH_NCCL_BLOCKING_WAIT", "0"},
      {"TORCH_NCCL_ENABLE_TIMING", "0"},
      {"TORCH_FR_BUFFER_SIZE", "0"},  // no flight recorder: it costs host time in every call
  };
  for (const auto& [name, value] : kSettings) setenv(name, value, /*overwrite=*/1);
}

/// Addresses by which other nodes may reach this one, one a line; the loopback device alone when all ranks are here.
std::string own_addresses(bool one_node) {
  if (one_node) return "127.0.0.1\n";
  std::string addresses;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) throw Error("cannot list the network interfaces of rank 0");
  for (const ifaddrs* entry = interfaces; entry != nullptr; entry = entry->ifa_next) {
    const bool usable = entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET &&
                        (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) addresses += std::string(text) + "\n";
  }
  freeifaddrs(interfaces);
  return addresses;
}

/// Does anybody listen there? TCPStore itself would try for long and loudly.
bool answers(const std::string& address, uint16_t port) {
  constexpr int kPatienceMs = 3000;
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1) return false;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  int error = connect(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
    socklen_t length = sizeof error;
    if (poll(&waiting, 1, kPatienceMs) == 1) getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  close(socket);
  return error == 0;
}

/// The key-value store through which members learn NCCL's unique ids. Rank 0 serves it on a port of its own choice.
Store make_store(Team& team) {
  c10d::TCPStoreOptions options;
  options.waitWorkers = false;
  options.timeout = std::chrono::minutes(5);
  Store server;
  std::string places;
  if (team.is_root()) {
    options.isServer = true;
    options.port = 0;
    auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    bool one_node = true;
    for (const RankPlace& place : team.places()) one_node = one_node && place.node == team.place().node;
    places = std::to_string(store->getPort()) + "\n" + own_addresses(one_node);
    server = store;
  }
  std::istringstream lines(team.broadcast(places));
  if (team.is_root()) return server;

  std::string port, address, tried;
  std::getline(lines, port);
  options.port = static_cast<uint16_t>(std::stoi(port));
  while (std::getline(lines, address)) {
    if (answers(address, options.port)) return c10::make_intrusive<c10d::TCPStore>(address, options);
    tried += " " + address;
  }
  throw UsageError("this node cannot reach rank 0 (" + team.places().front().host +
                   ") by TCP, which NCCL needs: tried port " + port + " of" + tried +
                   "; check firewalls and routes between the nodes");
}

ProcessGroup make_process_group(const Store& store, const std::vector<int>& members, int index, int ordinal,
                                bool is_world) {
  std::string name = "pkb";
  for (const int member : members) name += "_" + std::to_string(member);
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->group_name = name;
  options->timeout = std::chrono::hours(24);  // pkb's own watchdog is the one that counts
  if (!is_world) options->global_ranks_in_group.assign(members.begin(), members.end());
  auto process_group = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>(name, store),
                                                                   index, static_cast<int>(members.size()), options);
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(ordinal));
  process_group->setGroupUid(name);
  // Now, not in the first call, which may be a timed one; sends and receives then use this communicator too.
  process_group->setBoundDeviceId(device);
  process_group->eagerConnectSingleDevice(device);
  return process_group;
}

}  // namespace

std::string nccl_version() {
  return c10d::getNcclVersion();
}

std::unique_ptr<CommGroups> make_nccl_groups(Team& team, int ordinal) {
  quiet_helper_threads();
  const Store store = make_store(team);
  const auto world_size = static_cast<std::size_t>(team.size());
  return std::make_unique<CommGroups>(
      team.rank(), team.size(),
      [store, ordinal, world_size](CommGroups& groups, const std::vector<int>& members, int index) {
        auto process_group = make_process_group(store, members, index, ordinal, members.size() == world_size);
        return std::make_unique<NcclComm>(groups, std::move(process_group), ordinal);
      });
}

}  // namespace pkb
