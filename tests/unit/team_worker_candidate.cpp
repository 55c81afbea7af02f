// SPDX-License-Identifier: Apache-2.0
//
// A candidate in plain C++ for the tests of pkb_worker: y = x gathered from all ranks, through symmetric memory. The
// scalar "behaviour" makes it go wrong on the rank in the scalar "on". Built several times: CANDIDATE_ABI is the
// version it claims, CANDIDATE_WITHOUT_RUN leaves pkb_run out.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "pkb/candidate.h"

#ifndef CANDIDATE_ABI
#define CANDIDATE_ABI PKB_ABI_VERSION
#endif

namespace {

struct State {
  const pkb_context* context = nullptr;
  pkb_symmetric shared{};
  int rank = 0, world = 1;
  uint32_t epoch = 0;
};

bool is_told_to(const State& state, const pkb_arguments* arguments, const char* behaviour) {
  const pkb_scalar* const told = pkb::find_scalar(arguments->scalars, arguments->n_scalars, "behaviour");
  const pkb_scalar* const on = pkb::find_scalar(arguments->scalars, arguments->n_scalars, "on");
  return std::strcmp(told->string, behaviour) == 0 && (on->integer < 0 || on->integer == state.rank);
}

/// Tells all peers and waits for all.
void meet(State& state) {
  ++state.epoch;
  for (int peer = 0; peer < state.world; ++peer) {
    std::atomic_ref(state.shared.peer_signals[peer][state.rank]).store(state.epoch, std::memory_order_release);
  }
  for (int peer = 0; peer < state.world; ++peer) {
    while (std::atomic_ref(state.shared.signal[peer]).load(std::memory_order_acquire) < state.epoch) sched_yield();
  }
}

void gather(State& state, const pkb_arguments* arguments) {
  const pkb_tensor& x = arguments->inputs[0].tensors[0];
  const pkb_tensor& y = arguments->outputs[0].tensors[0];
  const auto bytes = static_cast<size_t>(x.shape[0]) * sizeof(float);
  std::memcpy(state.shared.local, x.data, bytes);
  meet(state);
  for (int peer = 0; peer < state.world; ++peer) {
    std::memcpy(static_cast<char*>(y.data) + static_cast<size_t>(peer) * bytes, state.shared.peers[peer], bytes);
  }
  meet(state);
}

/// With --io symmetric: straight from the peers' inputs.
void gather_from_inputs(State& state, const pkb_arguments* arguments) {
  const pkb_tensor& x = arguments->inputs[0].tensors[0];
  const pkb_tensor& y = arguments->outputs[0].tensors[0];
  const auto bytes = static_cast<size_t>(x.shape[0]) * sizeof(float);
  meet(state);
  for (int peer = 0; peer < state.world; ++peer) {
    std::memcpy(static_cast<char*>(y.data) + static_cast<size_t>(peer) * bytes, x.peers[peer], bytes);
  }
  meet(state);
}

}  // namespace

extern "C" {

PKB_EXPORT int pkb_abi_version(void) {
  return CANDIDATE_ABI;
}

PKB_EXPORT int pkb_last_error(const char** text) {
  const char* const error = std::getenv("CANDIDATE_LAST_ERROR");
  *text = error;
  if (error == nullptr) return 0;
  unsetenv("CANDIDATE_LAST_ERROR");
  return 9;
}

int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** out) {
  auto* const state = new State{context, {}, context->rank, context->world, 0};
  *out = state;
  const pkb_tensor& x = arguments->inputs[0].tensors[0];
  if (x.data != nullptr || context->abi_version != PKB_ABI_VERSION) return 90;
  if (is_told_to(*state, arguments, "setup returns")) return 7;
  if (is_told_to(*state, arguments, "setup throws")) throw std::runtime_error("no such luck");
  if (is_told_to(*state, arguments, "setup exits")) std::exit(0);
  if (is_told_to(*state, arguments, "setup skips")) return 0;
  if (is_told_to(*state, arguments, "setup asks unknown group")) {
    pkb_symmetric ignored;
    return context->symmetric_alloc(context, "tp", 16, &ignored) == 0 ? 91 : 5;
  }
  const int64_t extra = is_told_to(*state, arguments, "setup asks more") ? 64 : 0;
  if (context->symmetric_alloc(context, nullptr, x.capacity * 4 + extra, &state->shared) != 0) return 3;
  void* scratch = nullptr;
  if (context->workspace(context, 1 << 16, &scratch) != 0 || scratch == nullptr) return 4;
  std::memset(scratch, 0xFF, 1 << 16);
  if (context->host_barrier(context, "world") != 0) return 5;
  context->log(context, "set up");
  return 0;
}

#ifndef CANDIDATE_WITHOUT_RUN
int pkb_run(void* opaque, const pkb_arguments* arguments, cudaStream_t) {
  auto& state = *static_cast<State*>(opaque);
  if (is_told_to(state, arguments, "returns")) return 42;
  if (is_told_to(state, arguments, "throws")) throw 1;
  if (is_told_to(state, arguments, "exits")) std::exit(0);
  if (is_told_to(state, arguments, "crashes")) std::raise(SIGSEGV);
  if (is_told_to(state, arguments, "prints and crashes")) {
    std::printf("last words\n");
    std::abort();
  }
  if (is_told_to(state, arguments, "hangs")) {
    while (true) sched_yield();
  }
  if (is_told_to(state, arguments, "leaves an error"))
    setenv("CANDIDATE_LAST_ERROR", "invalid configuration argument", 1);
  if (is_told_to(state, arguments, "starts a thread")) std::thread([] { sleep(600); }).detach();
  if (is_told_to(state, arguments, "asks for services")) {
    pkb_symmetric ignored;
    return state.context->symmetric_alloc(state.context, nullptr, 16, &ignored) == 0 ? 92 : 0;
  }
  if (is_told_to(state, arguments, "reads the rank")) {
    const std::string memory = "/proc/" + std::to_string(getppid()) + "/mem";
    FILE* const file = std::fopen(memory.c_str(), "r");
    if (file != nullptr) return 93;
  }
  if (is_told_to(state, arguments, "uses peers' inputs")) {
    gather_from_inputs(state, arguments);
  } else {
    gather(state, arguments);
  }
  return 0;
}
#endif

void pkb_teardown(void* opaque) {
  delete static_cast<State*>(opaque);
}

}  // extern "C"
