// SPDX-License-Identifier: Apache-2.0
//
// y_r = sum_s x_s[r]       x_s [W, M, N] bf16 (W*M rows), y_r [M, N]: rank r gets block r of the sum
//
// Each rank pushes block d of its x to rank d, the next rank first, so that no receiver is hit by all at once.
// The receiver adds what arrives and its own block in fp32, in rank order, and rounds once.
// Blocks up to 2 MiB: as messages, whose words show by themselves that they are there: one kernel, one trip over the
// link. Above: in chunks, pushed and then flagged, into rings in the peer's memory; half of the blocks send, half
// receive.
//
// Bytes: a rank sends and receives W-1 blocks over its link.
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
    reduce_scatter_messages(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int share) {
  const pkb::Message message(share, pkb::vectors_of(n));
  pkb::MessageExchange exchange(pipes, message.channel);
  const auto block = [&](int d) {
    return [&, d](int i) { return pkb::load_elements(x + n * d, message.first + i, n); };
  };
  for (int k = 0; k < pipes.size() - 1; ++k) {
    const int destination = pipes.other(k);
    pkb::for_each_vector(message, block(destination), [&](int i, uint4 v) { exchange.send(destination, i, v); });
  }
  pkb::for_each_vector(message, block(pipes.rank()), [&](int i, uint4 own) {
    pkb::Float8 sum{};
    exchange.receive(i, own, [&](int, uint4 v) { pkb::add(sum, v); });
    pkb::store_elements(y, message.first + i, n, pkb::pack_bf16x8(sum));
  });
  exchange.finish();
}

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    reduce_scatter_chunks(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk) {
  const pkb::Work work(2, chunk);
  if (work.role == 0) {
    pkb::ChunkSender out(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      out.wait_for_room();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int destination = pipes.other(k);
        pkb::copy_block(out.chunk(destination), x + n * destination + at, count);
      }
      out.hand_over();
    }
    out.finish();
  } else {
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
    const bf16* own = x + n * pipes.rank();
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      in.wait_for_chunks();
      pkb::sum_block(
          count, pipes.size(), [&](int s) { return s == pipes.rank() ? own + at : in.chunk(s); },
          [&](int i, uint4 sum) { pkb::store_elements(y + at, i, count, sum); });
      in.give_back();
    }
    in.finish();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    *state = new State{pkb::make_pipes(
        context, pkb::resident_channels(context, {{reduce_scatter_messages, 1}, {reduce_scatter_chunks, 2}}))};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const pkb::Pipes& pipes = static_cast<const State*>(state)->pipes;
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int64_t n = y.elements();
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    if (pkb::fit_messages(pipes.channels, pkb::vectors_of(n))) {
      const pkb::MessageLaunch launch(pipes.channels, pkb::vectors_of(n));
      reduce_scatter_messages<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, launch.share);
    } else {
      const pkb::ChunkLaunch launch(pipes.channels, 2, n);
      reduce_scatter_chunks<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk);
    }
    pkb::check_launch("reduce_scatter");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
