// SPDX-License-Identifier: Apache-2.0
//
// LibTorch on a GPU. Built with a CUDA toolkit only.
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/headeronly/version.h>

#include <exception>

#include "core/error.h"
#include "reference/backend.h"

namespace pkb {
namespace {

class CudaGraphCalls final : public CapturedCalls {
 public:
  explicit CudaGraphCalls(c10::DeviceIndex ordinal) : ordinal_(ordinal) {}

  void capture(const std::function<void()>& calls) {
    // Thread-local: other threads (NCCL's watchdog) may go on querying events meanwhile.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    std::exception_ptr failure;
    try {
      calls();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      graph_.capture_end();
    } catch (...) {
      if (!failure) failure = std::current_exception();
      give_up_pool();
    }
    if (failure) std::rethrow_exception(failure);
  }
  void replay() override { graph_.replay(); }

 private:
  /// LibTorch leaves the graph's memory pool open when a capture does not end well.
  void give_up_pool() const {
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(ordinal_, pool_);
      c10::cuda::CUDACachingAllocator::releasePool(ordinal_, pool_);
    } catch (const std::exception&) {
      // It was closed after all.
    }
  }

  c10::DeviceIndex ordinal_;
  c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
  at::cuda::CUDAGraph graph_;
};

/// The first line of LibTorch's message, without its C++ stack trace.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class CudaBackend final : public TorchBackend {
 public:
  explicit CudaBackend(Device& device)
      : device_(device), ordinal_(static_cast<c10::DeviceIndex>(device.facts().ordinal)) {
    at::globalContext().lazyInitDevice(at::kCUDA);
    c10::cuda::set_device(ordinal_);
    // Not the default stream: graphs cannot be captured there, and it would wait for streams that are none of its
    // business.
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, ordinal_);
    c10::cuda::setCurrentCUDAStream(stream);
    stream_ = Stream{stream.stream()};
  }

  at::Device device() const override { return {at::kCUDA, ordinal_}; }
  Stream stream() const override { return stream_; }

  std::unique_ptr<CommGroups> make_groups(Team& team, bool ranks_share_gpus) override {
    if (ranks_share_gpus) return make_mpi_groups(team.communicator());
    return make_nccl_groups(team, ordinal_);
  }

  std::unique_ptr<CapturedCalls> capture(const std::function<void()>& calls, std::string& why_not) override {
    auto graph = std::make_unique<CudaGraphCalls>(ordinal_);
    try {
      graph->capture(calls);
      return graph;
    } catch (const std::exception& error) {
      why_not = "cannot be captured: " + first_line(error.what());
    }
    graph.reset();
    device_.abandon_capture(stream_);
    device_.take_error();
    return nullptr;
  }

  void release_cached_memory() override {
    device_.synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();
    at::getHostAllocator(at::kCUDA)->empty_cache();
  }

  int64_t reserved_bytes() const override {
    using c10::CachingAllocator::StatType;
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(ordinal_);
    return stats.reserved_bytes[static_cast<std::size_t>(StatType::AGGREGATE)].current;
  }

  std::string versions() const override {
    const int64_t cuda = at::detail::getCUDAHooks().versionCUDART();  // 13000: 13.0
    const std::string suffix = "+cu" + std::to_string(cuda / 1000) + std::to_string(cuda % 1000 / 10);
    return "torch " TORCH_VERSION + suffix + ", NCCL " + nccl_version();
  }

 private:
  Device& device_;
  c10::DeviceIndex ordinal_ = 0;
  Stream stream_;
};

}  // namespace

std::unique_ptr<TorchBackend> make_cuda_backend(Device& device) {
  return std::make_unique<CudaBackend>(device);
}

}  // namespace pkb
