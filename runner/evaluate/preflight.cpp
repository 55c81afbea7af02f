// SPDX-License-Identifier: Apache-2.0
#include "evaluate/preflight.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "worker/protocol.h"

namespace pkb {
namespace {

constexpr std::size_t kProbeBytes = 4096;

uint64_t token(int from, int to) {
  return 0x7072'6f62'6500'0000ULL + static_cast<uint64_t>(from) * 1024 + static_cast<uint64_t>(to);
}

/// A peer's probe buffer as this rank maps it; closes on the way out.
class Mapped {
 public:
  Mapped(Device& device, void* data) : device_(&device), data_(data) {}
  Mapped(Mapped&& other) noexcept : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  ~Mapped() {
    if (data_) device_->close(data_);
  }
  char* data() const { return static_cast<char*>(data_); }

 private:
  Device* device_;
  void* data_;
};

/// Opens the peers' buffers and writes a token into each. Returns what went wrong, by peer.
std::map<int, std::string> write_to_peers(Team& team, Device& device, void* own,
                                          const std::vector<std::string>& handles) {
  std::map<int, std::string> failures;
  std::vector<Mapped> mapped;
  for (int peer = 0; peer < team.size(); ++peer) {
    try {
      void* target = own;
      if (peer != team.rank()) {
        const auto handle =
            protocol::handle_from_json(protocol::Json::from_msgpack(handles[static_cast<std::size_t>(peer)]));
        mapped.emplace_back(device, device.open(handle));
        target = mapped.back().data();
      }
      const uint64_t value = token(team.rank(), peer);
      device.copy(static_cast<char*>(target) + sizeof value * static_cast<std::size_t>(team.rank()), &value,
                  sizeof value, {});
      device.synchronize();
    } catch (const std::exception& error) {
      failures[peer] = error.what();
    }
  }
  return failures;
}

std::vector<int> silent_peers(Team& team, Device& device, const void* own) {
  std::vector<uint64_t> arrived(static_cast<std::size_t>(team.size()));
  device.copy(arrived.data(), own, arrived.size() * sizeof(uint64_t), {});
  device.synchronize();
  std::vector<int> silent;
  for (int peer = 0; peer < team.size(); ++peer) {
    if (arrived[static_cast<std::size_t>(peer)] != token(peer, team.rank())) silent.push_back(peer);
  }
  return silent;
}

std::string advice(DeviceKind kind) {
  return kind == DeviceKind::cuda
             ? "CUDA IPC between these ranks does not work. Usual causes: containers that do not share namespaces "
               "(start them with "
               "--ipc=host --pid=host), --gpus-per-task or --gpu-bind that hides peers (ask for --gpus-per-node and "
               "--gpu-bind=none), or GPUs without peer access (nvidia-smi topo -p2p r)"
             : "shared memory between these ranks does not work: all ranks of a team must share /dev/shm (in a "
               "container: --ipc=host, "
               "or --shm-size=1g)";
}

}  // namespace

Placement choose_device(Team& team, std::optional<DeviceKind> wanted) {
  std::string why;
  const int count = wanted == DeviceKind::host ? 0 : cuda_device_count(why);
  const bool own_gpu = team.place().local_size <= count;
  const bool everyone_has_one = team.all(count > 0);
  const bool everyone_has_own = team.all(own_gpu);
  if (wanted == DeviceKind::cuda && !everyone_has_one) {
    throw UsageError("--device cuda: no GPU for rank " + std::to_string(team.rank()) + " on " + team.place().host +
                     (why.empty() ? "" : " (" + why + ")") + "; use --device host to run on CPU cores");
  }
  Placement placement;
  if (wanted == DeviceKind::cuda || (!wanted && everyone_has_own)) {
    placement.kind = DeviceKind::cuda;
    placement.ordinal = team.place().local_rank % count;
    return placement;
  }
  if (!wanted) {
    placement.notice =
        everyone_has_one
            ? "fewer GPUs than ranks: running on CPU cores (device host); --device cuda lets ranks share GPUs"
            : "no GPU" + (why.empty() ? "" : " (" + why + ")") + ": running on CPU cores (device host)";
  }
  return placement;
}

std::vector<DeviceFacts> gather_facts(Team& team, const DeviceFacts& mine) {
  const protocol::Json json{{"kind", static_cast<int>(mine.kind)},
                            {"ordinal", mine.ordinal},
                            {"name", mine.name},
                            {"uuid", mine.uuid},
                            {"pci", mine.pci},
                            {"sm_count", mine.sm_count},
                            {"cc", {mine.cc_major, mine.cc_minor}},
                            {"l2_bytes", mine.l2_bytes},
                            {"total_bytes", mine.total_bytes},
                            {"exclusive", mine.exclusive_process},
                            {"multicast", mine.multicast},
                            {"driver", mine.driver},
                            {"runtime", mine.runtime}};
  std::vector<DeviceFacts> facts;
  for (const std::string& text : team.all_gather(json.dump())) {
    const auto one = protocol::Json::parse(text);
    DeviceFacts fact;
    fact.kind = static_cast<DeviceKind>(one.at("kind").get<int>());
    fact.ordinal = one.at("ordinal");
    fact.name = one.at("name");
    fact.uuid = one.at("uuid");
    fact.pci = one.at("pci");
    fact.sm_count = one.at("sm_count");
    fact.cc_major = one.at("cc").at(0);
    fact.cc_minor = one.at("cc").at(1);
    fact.l2_bytes = one.at("l2_bytes");
    fact.total_bytes = one.at("total_bytes");
    fact.exclusive_process = one.at("exclusive");
    fact.multicast = one.at("multicast");
    fact.driver = one.at("driver");
    fact.runtime = one.at("runtime");
    facts.push_back(fact);
  }
  return facts;
}

void refuse_unfit_gpus(const std::vector<DeviceFacts>& facts) {
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    if (!facts[rank].exclusive_process) continue;
    throw UsageError("rank " + std::to_string(rank) + ": GPU " + facts[rank].pci +
                     " is in exclusive-process compute mode, but a rank and its worker share a GPU; "
                     "set it back with `nvidia-smi -c DEFAULT`");
  }
  const char* pipe = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::filesystem::path control = std::filesystem::path(pipe ? pipe : "/tmp/nvidia-mps") / "control";
  if (facts.front().kind == DeviceKind::cuda && std::filesystem::exists(control)) {
    throw UsageError("an MPS daemon is active (" + control.string() +
                     "): kernels that wait for each other deadlock under MPS; stop it with "
                     "`echo quit | nvidia-cuda-mps-control`");
  }
}

int most_ranks_per_device(const std::vector<DeviceFacts>& facts) {
  if (facts.front().kind == DeviceKind::host) return 1;
  std::map<std::string, int> ranks;
  int most = 1;
  for (const DeviceFacts& fact : facts) most = std::max(most, ++ranks[fact.uuid]);
  return most;
}

void probe_peers(Team& team, Device& device) {
  MemoryHandle handle;
  void* own = device.allocate_shared(kProbeBytes, handle);
  const auto packed = protocol::Json::to_msgpack(protocol::to_json(handle));
  const auto handles = team.all_gather(std::string(packed.begin(), packed.end()));
  const auto failures = write_to_peers(team, device, own, handles);
  team.barrier();
  const auto silent = silent_peers(team, device, own);
  device.all_opened(own);
  device.free_shared(own);

  protocol::Json report = protocol::Json::array();
  for (const auto& [peer, why] : failures) report.push_back({{"peer", peer}, {"why", why}});
  for (const int peer : silent) report.push_back({{"peer", peer}, {"why", "what it wrote did not arrive"}});
  const auto reports = team.all_gather(report.dump());
  std::string text;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    for (const auto& entry : protocol::Json::parse(reports[rank])) {
      text += (text.empty() ? "" : "; ") + std::string("rank ") + std::to_string(rank) + " with rank " +
              std::to_string(entry.at("peer").get<int>()) + ": " + entry.at("why").get<std::string>();
    }
  }
  if (!text.empty()) throw UsageError("peer memory: " + text + ". " + advice(device.kind()));
}

}  // namespace pkb
