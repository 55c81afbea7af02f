// SPDX-License-Identifier: Apache-2.0
//
// Launches: what translated code calls, and CUDA's names for launches by address.
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "api.h"
#include "hostcuda/cuda/launch.h"

namespace pkb::hostcuda {

namespace {

constexpr int kDefaultDynamicShared = 48 << 10;

struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
};

/// Of the host thread that launches. A stack, since arguments of a launch may launch themselves.
std::vector<Configuration>& pushed() {
  static thread_local std::vector<Configuration> configurations;
  return configurations;
}
thread_local ErrorCode last_launch = ErrorCode::success;

struct KnownKernel {
  Invoke invoke = nullptr;
  int max_dynamic_shared = kDefaultDynamicShared;
};

class KernelTable {
 public:
  static KernelTable& instance() {
    static KernelTable& table = *new KernelTable;
    return table;
  }
  void add(const void* function, Invoke invoke) {
    const std::lock_guard guard(lock_);
    kernels_[function] = {invoke, kDefaultDynamicShared};
  }
  KnownKernel find(const void* function) const {
    const std::lock_guard guard(lock_);
    const auto found = kernels_.find(function);
    return found == kernels_.end() ? KnownKernel{} : found->second;
  }
  bool allow_dynamic_shared(const void* function, int bytes) {
    const std::lock_guard guard(lock_);
    const auto found = kernels_.find(function);
    if (found == kernels_.end()) return false;
    found->second.max_dynamic_shared = bytes;
    return true;
  }

 private:
  mutable std::mutex lock_;
  std::unordered_map<const void*, KnownKernel> kernels_;
};

std::string text_of(dim3 extents) {
  return "(" + std::to_string(extents.x) + ", " + std::to_string(extents.y) + ", " + std::to_string(extents.z) + ")";
}

ErrorCode refuse(ErrorCode code, const Kernel& kernel, const std::string& why) {
  return set_error(code, why + " [kernel " + kernel.name + "]");
}

ErrorCode check(const Configuration& c, const Kernel& kernel) {
  const std::uint64_t threads = std::uint64_t{c.block.x} * c.block.y * c.block.z;
  if (threads == 0 || c.block.x > 1024 || c.block.y > 1024 || c.block.z > 64 || threads > 1024) {
    return refuse(ErrorCode::invalid_configuration, kernel, "a block of " + text_of(c.block) + " threads");
  }
  if (threads > static_cast<std::uint64_t>(kernel.max_threads)) {
    return refuse(
        ErrorCode::invalid_value, kernel,
        std::to_string(threads) + " threads a block, __launch_bounds__ says " + std::to_string(kernel.max_threads));
  }
  if (c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0 || c.grid.x > 2147483647u || c.grid.y > 65535 ||
      c.grid.z > 65535) {
    return refuse(ErrorCode::invalid_configuration, kernel, "a grid of " + text_of(c.grid) + " blocks");
  }
  const int allowed = KernelTable::instance().find(kernel.function).max_dynamic_shared;
  if (c.shared_bytes > static_cast<std::size_t>(allowed)) {
    return refuse(ErrorCode::invalid_value, kernel,
                  std::to_string(c.shared_bytes) + " bytes of dynamic shared memory, " + std::to_string(allowed) +
                      " are allowed (cudaFuncAttributeMaxDynamicSharedMemorySize)");
  }
  const Engine& engine = Engine::instance();
  const auto resident = static_cast<std::uint64_t>(engine.blocks_per_sm(threads, c.shared_bytes)) *
                        static_cast<std::uint64_t>(engine.facts().sm_count);
  const std::uint64_t blocks = std::uint64_t{c.grid.x} * c.grid.y * c.grid.z;
  if (c.cooperative && blocks > resident) {
    return refuse(ErrorCode::cooperative_launch_too_large, kernel,
                  std::to_string(blocks) + " blocks, at most " + std::to_string(resident) + " are resident");
  }
  return ErrorCode::success;
}

ErrorCode launch(const Configuration& c, const Kernel& kernel, std::shared_ptr<void> closure,
                 void (*run)(const void*)) {
  Engine& engine = Engine::instance();
  if (const ErrorCode error = check(c, kernel); error != ErrorCode::success) return error;
  if (const std::string failure = engine.failure(); !failure.empty())
    return set_error(ErrorCode::launch_failure, failure);
  const std::shared_ptr<Stream> stream = engine.find_stream(c.stream);
  if (stream == nullptr)
    return refuse(ErrorCode::invalid_resource_handle, kernel, "launch on a stream that is not there");
  auto work = std::make_shared<Launch>();
  work->name = kernel.name;
  work->grid = {c.grid.x, c.grid.y, c.grid.z};
  work->block = {c.block.x, c.block.y, c.block.z};
  work->dynamic_shared_bytes = c.shared_bytes;
  work->cooperative = c.cooperative;
  work->run = run;
  work->closure = std::move(closure);
  engine.submit(stream, std::move(work));
  return ErrorCode::success;
}

cudaError_t launch_by_address(const void* function, void** arguments, const Configuration& configuration) {
  const Invoke invoke = KernelTable::instance().find(function).invoke;
  if (invoke == nullptr) return fail_with(ErrorCode::invalid_device_function, "this address is no kernel's");
  pushed().push_back(configuration);
  invoke(arguments);
  return static_cast<cudaError_t>(last_launch);
}

}  // namespace

void push_launch(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
  pushed().push_back({grid, block, shared_bytes, stream, false});
}

bool register_kernel(const void* function, Invoke invoke) {
  KernelTable::instance().add(function, invoke);
  return true;
}

void submit_kernel(const Kernel& kernel, Closure closure) {
  std::shared_ptr<void> object(closure.object, closure.destroy);
  if (current_thread != nullptr)
    fail("a kernel launched by a kernel (dynamic parallelism) does not run on the host device", {kernel.name, 0});
  if (pushed().empty()) {
    std::fprintf(stderr, "pkb host device: kernel %s called without <<< >>>\n", kernel.name);
    std::abort();
  }
  const Configuration configuration = pushed().back();
  pushed().pop_back();
  last_launch = launch(configuration, kernel, std::move(object), closure.run);
}

}  // namespace pkb::hostcuda

using namespace pkb::hostcuda;

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                             cudaStream_t stream) {
  return launch_by_address(kernel, arguments, {grid, block, shared_bytes, stream, false});
}

cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t stream) {
  return launch_by_address(kernel, arguments, {grid, block, shared_bytes, stream, true});
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  Configuration configuration{config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) configuration.cooperative = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& cluster = attribute.val.clusterDim;
      if (cluster.x * cluster.y * cluster.z > 1) {
        return fail_with(ErrorCode::not_supported, "the host device has no thread block clusters");
      }
    }
  }
  return launch_by_address(kernel, arguments, configuration);
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > Engine::instance().facts().shared_bytes_per_block) {
    return fail_with(ErrorCode::invalid_value, std::to_string(value) + " bytes of dynamic shared memory");
  }
  if (KernelTable::instance().allow_dynamic_shared(kernel, value)) return cudaSuccess;
  return fail_with(ErrorCode::invalid_device_function, "cudaFuncSetAttribute: this address is no kernel's");
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const KnownKernel known = KernelTable::instance().find(kernel);
  if (known.invoke == nullptr) {
    return fail_with(ErrorCode::invalid_device_function, "cudaFuncGetAttributes: this address is no kernel's");
  }
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = known.max_dynamic_shared;
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t shared_bytes) {
  if (threads < 1) return fail_with(ErrorCode::invalid_value, "occupancy of " + std::to_string(threads) + " threads");
  *blocks = threads > 1024 ? 0 : Engine::instance().blocks_per_sm(static_cast<std::uint64_t>(threads), shared_bytes);
  return cudaSuccess;
}
