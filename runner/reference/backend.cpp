// SPDX-License-Identifier: Apache-2.0
#include "reference/backend.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/headeronly/version.h>

namespace pkb {
namespace {

class CpuBackend final : public TorchBackend {
 public:
  explicit CpuBackend(Device& device) : device_(device), stream_(device.create_stream()) {
    // Ranks share the cores; more threads would only push each other aside.
    at::set_num_threads(1);
  }
  ~CpuBackend() override { device_.destroy(stream_); }

  at::Device device() const override { return at::kCPU; }
  Stream stream() const override { return stream_; }
  std::unique_ptr<CommGroups> make_groups(Team& team, bool) override { return make_mpi_groups(team.communicator()); }
  std::unique_ptr<CapturedCalls> capture(const std::function<void()>&, std::string& why_not) override {
    why_not = device_.why_no_graphs();
    return nullptr;
  }
  void release_cached_memory() override {}  // the CPU's allocator keeps nothing
  int64_t reserved_bytes() const override { return 0; }
  std::string versions() const override { return "torch " TORCH_VERSION; }

 private:
  Device& device_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<TorchBackend> make_torch_backend(Device& device) {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowFP16ReductionCuBLAS(/*allow_reduced_precision=*/false);
  context.setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
  context.setBenchmarkCuDNN(true);  // the fastest convolution of each shape, found in the warm-up
  context.setAllowFP16BF16ReductionMathSDP(false);
  context.setAllowFP16ReductionCPU(false);
  if (device.kind() == DeviceKind::cuda) return make_cuda_backend(device);
  return std::make_unique<CpuBackend>(device);
}

}  // namespace pkb
