// SPDX-License-Identifier: Apache-2.0
//
// y_d = x_src[d]           x_src [W, M, N] bf16 on rank src, y_d [M, N]; the other ranks' x does not matter
//
// The root, a scalar of the call, pushes block d of its x to rank d; the other ranks only receive.
// It hears nothing back: first it looks for room, which there is unless a peer is two calls behind.
// Blocks up to 2 MiB: as messages, whose words show by themselves that they are there: one kernel, one trip over the
// link. Above: in chunks, pushed and then flagged, into rings in the peer's memory; the own block is copied meanwhile.
//
// Bytes: the root sends W-1 blocks over one link, which is the limit.
// At 365 GB/s a direction blocks of 2 MiB take 5.7 us with W = 2, 17 with 4, 40 with 8.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

struct State {
  pkb::Pipes pipes;
};

// n: elements of one block, here and below.
__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    scatter_messages(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int share, int src) {
  const pkb::Message message(share, pkb::vectors_of(n));
  const auto block = [&](int d) {
    return [&, d](int i) { return pkb::load_elements(x + n * d, message.first + i, n); };
  };
  const auto store = [&](int i, uint4 v) { pkb::store_elements(y, message.first + i, n, v); };
  if (pipes.rank() == src) {
    pkb::MessageSender out(pipes, message.channel, pipes.others());
    out.wait_for_room();
    for (int k = 0; k < pipes.size() - 1; ++k) {
      const int destination = pipes.other(k);
      pkb::for_each_vector(message, block(destination), [&](int i, uint4 v) { out.send(destination, i, v); });
    }
    pkb::for_each_vector(message, block(src), store);
    out.finish();
  } else {
    pkb::MessageReceiver in(pipes, message.channel, 1u << src);
    pkb::for_each_vector(
        message, [&](int i) { return in.receive(src, i); }, store);
    in.finish();
  }
}

__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    scatter_chunks(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int src) {
  const pkb::Work work(1, chunk);
  if (pipes.rank() == src) {
    pkb::ChunkSender out(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      out.wait_for_room();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int destination = pipes.other(k);
        pkb::copy_block(out.chunk(destination), x + n * destination + at, count);
      }
      out.hand_over();
      pkb::copy_block(y + at, x + n * src + at, count);
    }
    out.finish();
  } else {
    pkb::ChunkReceiver in(pipes, work.channel, 1u << src);
    for (int64_t at = work.first; at < n; at += work.stride) {
      in.wait_for_chunks();
      pkb::copy_block(y + at, in.chunk(src), pkb::chunk_elements(at, chunk, n));
      in.give_back();
    }
    in.finish();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    *state = new State{
        pkb::make_pipes(context, pkb::resident_channels(context, {{scatter_messages, 1}, {scatter_chunks, 1}}))};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const pkb::Pipes& pipes = static_cast<const State*>(state)->pipes;
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int src = static_cast<int>(pkb::scalar_int(arguments, "src"));
    const int64_t n = y.elements();
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    if (pkb::fit_messages(pipes.channels, pkb::vectors_of(n))) {
      const pkb::MessageLaunch launch(pipes.channels, pkb::vectors_of(n));
      scatter_messages<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, launch.share, src);
    } else {
      const pkb::ChunkLaunch launch(pipes.channels, 1, n);
      scatter_chunks<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, src);
    }
    pkb::check_launch("scatter");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
