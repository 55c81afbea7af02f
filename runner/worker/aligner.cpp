// SPDX-License-Identifier: Apache-2.0
#include "worker/aligner.h"

#include "worker/failure.h"

namespace pkb {
namespace {

constexpr int64_t kLimitNs =
    60'000'000'000;                   // the call's deadline comes first; this keeps a lost device from spinning on
constexpr std::size_t kPadBytes = 8;  // a member

}  // namespace

Aligner::Aligner(Device& device, RankLink& link, SymmetricMemory& memory, const Group& world)
    : device_(device), link_(link), memory_(memory), world_(world) {
  timed_out_ = static_cast<uint32_t*>(device_.allocate_pinned(sizeof *timed_out_));
  *timed_out_ = 0;
}

Aligner::~Aligner() {
  device_.free_pinned(timed_out_);
}

void Aligner::meet() {
  if (world_.size() > 1 && pads_ == nullptr) {
    pads_ = &memory_.allocate(world_, kPadBytes * world_.size(), "pads to align the ranks");
    memory_.all_opened(*pads_);
    epoch_ = 0;
  }
  link_.meet("aligned start", world_);
}

std::string Aligner::any_reason(const std::string& mine) {
  const std::vector<std::string> reasons = link_.exchange("whether the calls could be captured", world_, mine);
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    if (!reasons[rank].empty())
      return world_.size() == 1 ? reasons[rank] : "rank " + std::to_string(rank) + ": " + reasons[rank];
  }
  return {};
}

void Aligner::enqueue(Stream stream) {
  if (world_.size() == 1) return;
  device_.barrier(pads_->peers, world_.index, ++epoch_, kLimitNs, timed_out_, stream);
}

void Aligner::check() const {
  if (*static_cast<const volatile uint32_t*>(timed_out_) != 0) {
    throw Failure("harness_error", "the ranks did not reach the start of a timed call within 60 s of each other");
  }
}

void Aligner::forget_pads() {
  pads_ = nullptr;
}

}  // namespace pkb
