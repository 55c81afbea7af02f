// SPDX-License-Identifier: Apache-2.0
//
// What the host device does not run, refused with file and line.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "rewriter.h"

namespace pkb::translate {

namespace {

struct Refusal {
  std::string_view name;
  std::string_view why;
};
constexpr std::array kRefusals = {
    Refusal{"wmma", "tensor-core fragments (nvcuda::wmma)"},
    Refusal{"texture", "texture references"},
    Refusal{"cudaTextureObject_t", "textures"},
    Refusal{"cudaSurfaceObject_t", "surfaces"},
    Refusal{"__cluster_dims__", "thread block clusters"},
    Refusal{"cluster_group", "thread block clusters"},
    Refusal{"this_cluster", "thread block clusters"},
    Refusal{"CUtensorMap", "tensor maps (TMA)"},
    Refusal{"__pipeline_memcpy_async", "asynchronous copies by cp.async"},
    Refusal{"__nv_fp4_e2m1", "fp4"},
};

bool is_of_the_toolkit(std::string_view path) {
  static constexpr std::array<std::string_view, 12> kPrefixes = {"cuda",     "cub",     "curand", "cusparse",
                                                                 "cusolver", "cufft",   "cudnn",  "cooperative_groups",
                                                                 "nccl",     "nvshmem", "mma.h",  "nvToolsExt"};
  if (path.find("/crt/") != std::string_view::npos || path.find("/thrust/") != std::string_view::npos ||
      path.find("/cub/") != std::string_view::npos || path.find("/cuda/") != std::string_view::npos) {
    return true;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// The folder of a toolkit that was given by -I, and so is no system folder.
bool is_beside_the_toolkit(std::string_view path) {
  std::filesystem::path folder = path;
  for (int level = 0; level < 5 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    if (std::filesystem::exists(folder / "crt/host_defines.h")) return true;
  }
  return false;
}

}  // namespace

void Rewriter::refused_name(std::size_t index) {
  const Token& token = tokens_[index];
  const auto* const refusal =
      std::find_if(kRefusals.begin(), kRefusals.end(), [&](const Refusal& one) { return one.name == token.text; });
  if (refusal == kRefusals.end()) return;
  // `texture` is a name anyone may use; the CUDA type is followed by its arguments.
  if (token.is("texture") && !list_.is(index + 1, "<")) return;
  fault(index, "'" + std::string(token.text) + "': the host device has no " + std::string(refusal->why));
}

// An empty statement only keeps the compiler from moving accesses, which it can do here as well.
void Rewriter::inline_assembly(std::size_t index) {
  std::size_t open = index + 1;
  while (list_.is_identifier(open)) ++open;  // volatile, goto
  if (list_.is(open, "(") && list_.is(open + 1, "\"\"")) return;
  const bool has_text = open + 1 < tokens_.size() && tokens_[open + 1].kind == TokenKind::text;
  fault(index,
        "inline assembly" + (has_text ? " (" + std::string(tokens_[open + 1].text) + ")" : std::string()) +
            " does not run on the host device; use the function of pkb/device.cuh that does the same, or keep it under "
            "#ifndef PKB_HOST_CUDA");
}

// The toolkit's own headers need nvcc's builtins and contradict the runtime's.
void Rewriter::foreign_headers() {
  for (const Inclusion& inclusion : list_.inclusions) {
    if (inclusion.path.find("/hostcuda/") != std::string::npos) continue;
    if (!is_of_the_toolkit(inclusion.path)) continue;
    if (!inclusion.is_system && !is_beside_the_toolkit(inclusion.path)) continue;
    faults_ += list_.where(inclusion.from) + ": error: the host device has no <" +
               inclusion.path.substr(
                   inclusion.path.rfind("/include/") == std::string::npos ? 0 : inclusion.path.rfind("/include/") + 9) +
               ">; keep it under #ifndef PKB_HOST_CUDA\n";
    return;  // what it includes in turn would only repeat this
  }
}

}  // namespace pkb::translate
