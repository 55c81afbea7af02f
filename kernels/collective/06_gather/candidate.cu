// SPDX-License-Identifier: Apache-2.0
//
// y[s] = x_s on rank dst   x_s [M, N] bf16, y [W, M, N]; the other ranks have no y
//
// Every other rank pushes its x to the root, a scalar of the call, which only receives.
// A sender hears nothing back: first it looks for room, which there is unless the root is two calls behind.
// Up to 2 MiB: as messages, whose words show by themselves that they are there: one kernel, one trip over the link.
// Above: in chunks, pushed and then flagged, into rings in the root's memory; the root copies its own x meanwhile.
//
// Bytes: the root receives (W-1)|x| over one link, which is the limit.
// At 365 GB/s a direction 2 MiB a rank take 5.7 us with W = 2, 17 with 4, 40 with 8.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

struct State {
  pkb::Pipes pipes;
};

__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    gather_messages(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int share, int dst) {
  const pkb::Message message(share, pkb::vectors_of(n));
  const auto load = [&](int i) { return pkb::load_elements(x, message.first + i, n); };
  if (pipes.rank() != dst) {
    pkb::MessageSender out(pipes, message.channel, 1u << dst);
    out.wait_for_room();
    pkb::for_each_vector(message, load, [&](int i, uint4 v) { out.send(dst, i, v); });
    out.finish();
  } else {
    pkb::MessageReceiver in(pipes, message.channel, pipes.others());
    pkb::for_each_vector(message, load, [&](int i, uint4 own) {
      in.receive(i, own, [&](int s, uint4 v) { pkb::store_elements(y + n * s, message.first + i, n, v); });
    });
    in.finish();
  }
}

__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    gather_chunks(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int dst) {
  const pkb::Work work(1, chunk);
  if (pipes.rank() != dst) {
    pkb::ChunkSender out(pipes, work.channel, 1u << dst);
    for (int64_t at = work.first; at < n; at += work.stride) {
      out.wait_for_room();
      pkb::copy_block(out.chunk(dst), x + at, pkb::chunk_elements(at, chunk, n));
      out.hand_over();
    }
    out.finish();
  } else {
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      pkb::copy_block(y + n * dst + at, x + at, count);
      in.wait_for_chunks();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int source = pipes.other(k);
        pkb::copy_block(y + n * source + at, in.chunk(source), count);
      }
      in.give_back();
    }
    in.finish();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    *state = new State{
        pkb::make_pipes(context, pkb::resident_channels(context, {{gather_messages, 1}, {gather_chunks, 1}}))};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const pkb::Pipes& pipes = static_cast<const State*>(state)->pipes;
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int dst = static_cast<int>(pkb::scalar_int(arguments, "dst"));
    const int64_t n = x.elements();
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    if (pkb::fit_messages(pipes.channels, pkb::vectors_of(n))) {
      const pkb::MessageLaunch launch(pipes.channels, pkb::vectors_of(n));
      gather_messages<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, launch.share, dst);
    } else {
      const pkb::ChunkLaunch launch(pipes.channels, 1, n);
      gather_chunks<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, dst);
    }
    pkb::check_launch("gather");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
