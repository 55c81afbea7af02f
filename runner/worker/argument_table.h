// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device/device.h"
#include "pkb/candidate.h"
#include "worker/protocol.h"

namespace pkb {

/// Where the tensors of a call lie.
struct Slab {
  char* base = nullptr;
  int64_t bytes = 0;
  std::vector<char*> peers;  ///< [world] with --io symmetric, else empty
};

/// Host tensors of a CUDA candidate. They lie in pinned memory of this process, which the rank cannot reach; the slab
/// holds a copy of each, which is carried over before and after the calls. A place in the slab keeps its pinned memory,
/// because a captured call goes on using it.
class HostMirrors {
 public:
  explicit HostMirrors(Device& device) : device_(device) {}
  ~HostMirrors();
  HostMirrors(const HostMirrors&) = delete;
  HostMirrors& operator=(const HostMirrors&) = delete;

  void* pinned(char* in_slab, std::size_t bytes);
  void fetch(char* in_slab, Stream stream);
  void store(char* in_slab, Stream stream);

 private:
  struct Mirror {
    void* pinned = nullptr;
    std::size_t bytes = 0;
  };
  Device& device_;
  std::map<char*, Mirror> mirrors_;
};

/// The arguments of one draw as a candidate sees them, in memory that does not move.
class ArgumentTable {
 public:
  /// For setup: names, dtypes, shapes and capacities, no data.
  explicit ArgumentTable(const protocol::ArgumentsMessage& message);
  /// For runs. `ranks`: each rank's tensor_offsets of this draw when the slab has peers, else empty. Throws Error for a
  /// tensor outside the slab.
  ArgumentTable(const protocol::ArgumentsMessage& message, const Slab& slab, const std::vector<protocol::Json>& ranks,
                DeviceKind device, HostMirrors& mirrors);
  ArgumentTable(const ArgumentTable&) = delete;
  ArgumentTable& operator=(const ArgumentTable&) = delete;

  const pkb_arguments* get() const { return &arguments_; }
  void warm() const;          ///< reads it all, so that the caches hold it when calls are timed
  void fetch(Stream stream);  ///< host tensors, from the slab
  void store(Stream stream);  ///< and back

 private:
  void build(const protocol::ArgumentsMessage& message);
  void place(const std::vector<protocol::ArgumentMessage>& messages, std::vector<std::vector<pkb_tensor>>& tensors,
             const char* section, const Slab& slab, const std::vector<protocol::Json>& ranks);
  void* address_of(const protocol::TensorMessage& message, const Slab& slab);

  DeviceKind device_ = DeviceKind::host;
  HostMirrors* mirrors_ = nullptr;
  std::vector<char*> mirrored_;  ///< places in the slab
  std::vector<std::string> names_;
  std::vector<std::vector<pkb_tensor>> input_tensors_, output_tensors_;
  std::vector<pkb_argument> inputs_, outputs_;
  std::vector<protocol::ScalarMessage> param_values_, scalar_values_;
  std::vector<pkb_scalar> params_, scalars_;
  std::vector<std::vector<void*>> peers_;
  pkb_arguments arguments_{};
};

/// Where each tensor of a call lies in this rank's slab, for the peers: {"inputs": {name: [offset]}, "outputs": ...}.
protocol::Json tensor_offsets(const protocol::ArgumentsMessage& message);

}  // namespace pkb
