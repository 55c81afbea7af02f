// SPDX-License-Identifier: Apache-2.0
//
// In place of backend_cuda.cpp and comm_nccl.cpp when there is no CUDA toolkit.
#include "core/error.h"
#include "reference/backend.h"

namespace pkb {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "this pkb was built without CUDA; configure it with a CUDA toolkit and -DPKB_CUDA=ON, or use --device host");
}

}  // namespace

std::unique_ptr<TorchBackend> make_cuda_backend(Device&) {
  refuse();
}
std::unique_ptr<CommGroups> make_nccl_groups(Team&, int) {
  refuse();
}
std::string nccl_version() {
  refuse();
}

}  // namespace pkb
