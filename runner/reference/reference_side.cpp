// SPDX-License-Identifier: Apache-2.0
#include "reference/reference_side.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "reference/backend.h"
#include "reference/comm_deaf.h"
#include "reference/controls.h"
#include "reference/draws.h"
#include "reference/dump.h"
#include "reference/expected.h"
#include "reference/library.h"
#include "reference/tensors.h"
#include "reference/timing.h"

namespace pkb {
namespace {

using protocol::TimeRequest;
using Mode = TimeRequest::Mode;

/// In-place arguments as they were drawn, of the draws that a timed loop uses.
class Pristine {
 public:
  Pristine(const Instance& instance, const std::vector<Slot>& slots, const std::vector<int32_t>& draws) {
    for (const int32_t draw : draws) {
      if (copies_.contains(draw)) continue;
      const Slot& slot = slots[static_cast<std::size_t>(draw)];
      auto& copies = copies_[draw];
      for (std::size_t i = 0; i < slot.tensors.size(); ++i) {
        const at::Tensor& tensor = slot.tensors[i];
        if (tensor.defined() && is_changed_input(instance, instance.inputs[i].name))
          copies.emplace_back(tensor, tensor.clone());
      }
    }
  }
  void restore(int32_t draw) const {
    for (const auto& [tensor, copy] : copies_.at(draw)) tensor.copy_(copy);
  }
  void restore_all() const {
    for (const auto& [draw, copies] : copies_) restore(draw);
  }

 private:
  std::map<int32_t, std::vector<std::pair<at::Tensor, at::Tensor>>> copies_;  ///< (argument, copy) by draw
};

/// The outputs of a call where they are; those in host memory copied there.
std::vector<at::Tensor> tensors_at(const std::vector<const void*>& data, const Instance& instance,
                                   const std::vector<at::Tensor>& expected, at::Device device) {
  std::vector<at::Tensor> tensors(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == nullptr || !expected[i].defined()) continue;
    const auto options = at::TensorOptions().dtype(expected[i].scalar_type()).device(device);
    tensors[i] = at::for_blob(const_cast<void*>(data[i]), expected[i].sizes())
                     .strides(expected[i].strides())
                     .target_device(device)
                     .options(options)
                     .make_tensor();
    if (instance.outputs[i].host) tensors[i] = tensors[i].cpu();
  }
  return tensors;
}

}  // namespace

/// In order of construction; destroyed the other way round, collectively.
struct ReferenceSide::State {
  State(Team& team_, Device& device_, const ReferenceOptions& options)
      : team(team_),
        device(device_),
        backend(make_torch_backend(device)),
        base(device, backend->device(), backend->stream()),
        groups(backend->make_groups(team, options.ranks_share_gpus)),
        timer(team, device, *backend) {}

  const Slot& slot(int index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= slots.size()) {
      throw Error("slot " + std::to_string(index) + " of the reference was asked for; it holds " +
                  std::to_string(slots.size()));
    }
    return slots[static_cast<std::size_t>(index)];
  }
  void need_library() const {
    if (!library) throw Error("no reference is loaded");
  }
  /// On the CPU; undefined where absent.
  at::Tensor copy_of(const TensorView& view, const TensorInstance& declared) {
    if (!view.present()) return {};
    const bool as_declared = view.shape == declared.shape;
    at::Tensor copy = as_declared ? at::empty_strided(view.shape, declared.strides(), scalar_type_of(view.dtype))
                                  : at::empty(view.shape, scalar_type_of(view.dtype));
    if (copy.numel() > 0) device.copy(copy.mutable_data_ptr(), view.data, copy.nbytes(), backend->stream());
    device.synchronize(backend->stream());
    return copy;
  }
  void drop_slots(std::size_t keep) {
    if (keep >= slots.size()) return;
    timer.drop_graph();  // it reads the slots where they are
    slots.resize(keep);
  }

  Team& team;
  Device& device;
  std::unique_ptr<TorchBackend> backend;
  BaseDraws base;
  std::unique_ptr<CommGroups> groups;
  std::unique_ptr<Library> library;
  Instance instance;
  std::vector<Slot> slots;
  std::vector<at::Tensor> expected, control;
  std::string captured_baseline;
  CallTimer timer;
};

ReferenceSide::ReferenceSide(Team& team, Device& device, const ReferenceOptions& options)
    : state_(std::make_unique<State>(team, device, options)) {}

ReferenceSide::~ReferenceSide() {
  drop_expected();
}

void ReferenceSide::set_seed(uint64_t seed) {
  state_->base.set_seed(seed);
}

void ReferenceSide::load(const std::filesystem::path& shared_object) {
  drop_expected();
  state_->drop_slots(0);
  state_->library.reset();
  state_->library = std::make_unique<Library>(shared_object);
}

std::vector<std::string> ReferenceSide::baselines() const {
  state_->need_library();
  return state_->library->baselines();
}

void ReferenceSide::make_draws(const Instance& instance, int64_t first, int count) {
  State& state = *state_;
  state.need_library();
  state.instance = instance;
  state.groups->name_groups(instance.groups);
  state.drop_slots(static_cast<std::size_t>(count));
  const std::size_t kept = state.slots.size();
  state.slots.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < state.slots.size(); ++i) {
    Slot& slot = state.slots[i];
    const bool moved = draw_slot(state.base, instance, state.library->custom_inputs(), first + static_cast<int64_t>(i),
                                 slot, i > 0 ? &state.slots.front() : nullptr);
    if (moved && i < kept) state.timer.drop_graph();
  }
  // Others read the slots on streams of their own.
  state.device.synchronize(state.backend->stream());
}

int ReferenceSide::slots() const {
  return static_cast<int>(state_->slots.size());
}

TensorView ReferenceSide::input(int slot, std::size_t index) const {
  return view_of(state_->slot(slot).tensors.at(index), state_->instance.inputs.at(index));
}

const std::map<std::string, Scalar, std::less<>>& ReferenceSide::scalars(int slot) const {
  return state_->slot(slot).inputs.scalars;
}

void ReferenceSide::make_expected(int slot) {
  State& state = *state_;
  state.need_library();
  const c10::InferenceMode no_gradients;
  drop_expected();
  state.expected = expected_outputs(state.instance, state.library->answer(), state.slot(slot), state.groups->world(),
                                    state.backend->device());
  state.device.synchronize(state.backend->stream());
}

TensorView ReferenceSide::expected(std::size_t index) const {
  if (state_->expected.empty()) throw Error("no expected output has been made");
  return view_of(state_->expected.at(index), state_->instance.outputs.at(index));
}

std::string ReferenceSide::check(int slot, const std::vector<const void*>& outputs) {
  State& state = *state_;
  state.need_library();
  const CheckFunction judge = state.library->check();
  const Instance& instance = state.instance;
  if (judge == nullptr) {
    for (const TensorInstance& output : instance.outputs) {
      if (output.spec->left_to_check)
        throw Error(label(instance, output) + " has `compare: check`, the reference none");
    }
    return {};
  }
  const c10::InferenceMode no_gradients;
  const auto& declared = instance.problem->outputs;
  const auto tensors = tensors_at(outputs, instance, state.expected, state.backend->device());
  std::string wrong = judge(state.slot(slot).inputs, by_name(declared, instance.outputs, tensors),
                            by_name(declared, instance.outputs, state.expected), state.groups->world());
  state.device.synchronize(state.backend->stream());
  return wrong;
}

void ReferenceSide::make_control(Control control, int slot, int unheard) {
  State& state = *state_;
  const c10::InferenceMode no_gradients;
  const int other = (slot + 1) % slots();
  const auto answer = [&](ReferenceFunction run, int of, Comm& comm) {
    return expected_outputs(state.instance, run, state.slot(of), comm, state.backend->device());
  };
  const ReferenceFunction baseline = state.library->baseline(baselines().front());
  const auto deaf_answer = [&](int missing) {
    DeafComm comm(state.groups->world(), state.instance.groups, state.instance.groups.front().members, missing);
    return answer(baseline, slot, comm);
  };
  switch (control) {
    case Control::reference:
      state.control = answer(baseline, slot, state.groups->world());
      break;
    case Control::zeros:
    case Control::ones:
      state.control = filled_like(state.expected, control == Control::ones ? 1 : 0);
      break;
    case Control::input:
      state.control = inputs_as_outputs(state.instance, state.slot(slot), state.expected);
      break;
    case Control::stale:
      state.control = answer(state.library->answer(), other, state.groups->world());
      break;
    case Control::mute:
      state.control = deaf_answer(DeafComm::kEverybodyElse);
      break;
    case Control::partial:
      state.control = deaf_answer(unheard);
      break;
    case Control::one_off:
      state.control = off_by_one_element(state.instance, state.expected, static_cast<uint64_t>(slot));
      break;
  }
  for (std::size_t i = 0; i < state.control.size(); ++i) {
    at::Tensor& tensor = state.control[i];
    if (tensor.defined() && state.expected[i].defined() && state.expected[i].is_pinned()) tensor = tensor.pin_memory();
  }
  state.device.synchronize(state.backend->stream());
}

TensorView ReferenceSide::control(std::size_t index) const {
  return view_of(state_->control.at(index), state_->instance.outputs.at(index));
}

ReferenceSide::Degenerate ReferenceSide::degenerate(int slot, std::size_t index) const {
  const c10::InferenceMode no_gradients;
  const TensorInstance& output = state_->instance.outputs.at(index);
  const at::Tensor& expected = state_->expected.at(index);
  if (!expected.defined() || expected.dim() == 0 || expected.numel() < 2 || output.host) return {};
  return degeneracy_of(state_->instance, state_->slot(slot), expected);
}

bool ReferenceSide::repeats_input(int slot, std::size_t index) const {
  const c10::InferenceMode no_gradients;
  const TensorInstance& input = state_->instance.inputs.at(index);
  const at::Tensor& tensor = state_->slot(slot).tensors.at(index);
  if (input.spec->constant || input.shared || input.host || !tensor.defined() || tensor.dim() == 0 ||
      tensor.numel() == 0)
    return false;
  return same_bytes(tensor, state_->slot(slot - 1).tensors.at(index));
}

void ReferenceSide::drop_expected() {
  const c10::InferenceMode no_gradients;
  state_->control.clear();
  for (const at::Tensor& tensor : state_->expected) {
    if (tensor.defined()) tensor.zero_();
  }
  state_->expected.clear();
}

void ReferenceSide::dump(const std::filesystem::path& file, int slot, const DumpDetails& details) const {
  const c10::InferenceMode no_gradients;
  const Instance& instance = state_->instance;
  if (state_->expected.size() != instance.outputs.size()) throw Error("no expected output has been made");
  std::vector<at::Tensor> actual;
  for (std::size_t i = 0; i < details.actual.size(); ++i) {
    actual.push_back(state_->copy_of(details.actual[i], instance.outputs[i]));
  }
  write_torch_file(file, dump_of(instance, state_->slot(slot), state_->expected, actual, details));
}

protocol::TimeReply ReferenceSide::time(const std::string& baseline, const TimeRequest& request) {
  State& state = *state_;
  state.need_library();
  const ReferenceFunction run = state.library->baseline(baseline);
  if (state.slots.empty()) throw Error("inputs must be drawn before the reference is timed");
  for (const int32_t draw : request.draws) state.slot(draw);
  for (const int32_t draw : request.lead_in) state.slot(draw);
  if (request.mode == Mode::replay && baseline != state.captured_baseline) state.timer.drop_graph();
  state.captured_baseline = request.mode == Mode::graph ? baseline : state.captured_baseline;

  // Inference mode spares autograd's bookkeeping in every operation: the baseline is timed at LibTorch's lowest launch
  // cost.
  const c10::InferenceMode no_gradients;
  Comm& comm = state.groups->world();
  TimedCalls calls;
  calls.call = [&](int32_t draw) { run(state.slots[static_cast<std::size_t>(draw)].inputs, comm); };
  if (state.instance.problem->inplace.empty()) return state.timer.time(calls, request);

  const Pristine pristine(state.instance, state.slots, request.draws);
  calls.restore = [&](int32_t draw) { pristine.restore(draw); };
  protocol::TimeReply reply = state.timer.time(calls, request);
  pristine.restore_all();
  state.device.synchronize(state.backend->stream());
  return reply;
}

void ReferenceSide::release() {
  drop_expected();
  state_->drop_slots(0);
  state_->backend->release_cached_memory();
}

int64_t ReferenceSide::allocated_bytes() const {
  return state_->backend->reserved_bytes();
}

std::string ReferenceSide::versions() const {
  return state_->backend->versions();
}

}  // namespace pkb
