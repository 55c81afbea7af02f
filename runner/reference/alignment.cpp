// SPDX-License-Identifier: Apache-2.0
#include "reference/alignment.h"

#include <cstring>
#include <exception>
#include <type_traits>

#include "core/error.h"

namespace pkb {
namespace {

constexpr int64_t kTimeoutNs = 30'000'000'000;

static_assert(std::is_trivially_copyable_v<MemoryHandle>);

}  // namespace

Alignment::Alignment(Team& team, Device& device, Stream stream)
    : team_(team), device_(device), stream_(stream), exceptions_(std::uncaught_exceptions()) {
  pads_.resize(static_cast<std::size_t>(team.size()), nullptr);
  timed_out_ = static_cast<uint32_t*>(device_.allocate_pinned(sizeof(uint32_t)));
  *timed_out_ = 0;
  MemoryHandle handle;
  void* own = device_.allocate_shared(sizeof(uint64_t) * pads_.size(), handle);
  pads_[static_cast<std::size_t>(team.rank())] = own;
  exchange(handle);
  team_.barrier();
  device_.all_opened(own);
}

void Alignment::exchange(const MemoryHandle& own) {
  const auto handles = team_.all_gather(std::string_view(reinterpret_cast<const char*>(&own), sizeof own));
  for (std::size_t rank = 0; rank < pads_.size(); ++rank) {
    if (pads_[rank] != nullptr) continue;
    MemoryHandle handle;
    if (handles[rank].size() != sizeof handle)
      throw Error("a malformed memory handle from rank " + std::to_string(rank));
    std::memcpy(&handle, handles[rank].data(), sizeof handle);
    pads_[rank] = device_.open(handle);
  }
}

Alignment::~Alignment() {
  const auto self = static_cast<std::size_t>(team_.rank());
  try {
    device_.synchronize(stream_);
    for (std::size_t rank = 0; rank < pads_.size(); ++rank) {
      if (rank != self) device_.close(pads_[rank]);
    }
    // Importers let go before the owner frees; an exception on its way must not wait for others.
    if (std::uncaught_exceptions() == exceptions_) team_.barrier();
    device_.free_shared(pads_[self]);
    device_.free_pinned(timed_out_);
  } catch (const std::exception&) {
    // The process is ending and takes its memory along.
  }
}

void Alignment::enqueue() {
  device_.barrier(pads_, team_.rank(), ++epoch_, kTimeoutNs, timed_out_, stream_);
  if (device_.kind() == DeviceKind::host) device_.synchronize(stream_);
}

void Alignment::check() const {
  if (*static_cast<const volatile uint32_t*>(timed_out_) == 0) return;
  throw Error("rank " + std::to_string(team_.rank()) +
              " waited 30 s for the other ranks before a timed loop of the reference");
}

}  // namespace pkb
