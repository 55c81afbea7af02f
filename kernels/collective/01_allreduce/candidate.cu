// SPDX-License-Identifier: Apache-2.0
//
// y = sum_r x_r            x_r [M, N] bf16, every rank gets y
//
// Additions are in fp32, in rank order, rounded once: the same bits on every rank.
// Small: each rank sends its x to every peer as packets and adds what it gets: one kernel, one trip over the link.
// Two ranks: the same with chunks, pushed and then flagged; some blocks send, others receive and add.
// More ranks: of every W chunks each rank owns one. All push to the owners; an owner adds its chunk and pushes the sum
// to all; all collect.
//
// Bytes a rank sends: (W-1)|x| directly (twice that as packets), 2(W-1)/W |x| by owners, the least there is without a
// switch that adds. At 365 GB/s a direction 2 MiB take 5.7 us with W = 2, 8.6 with 4, 10 with 8.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

struct State {
  pkb::Pipes pipes;  // the upper half of the channels carries sums
  int channels;
};

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    all_reduce_packets(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n) {
  const pkb::Message message(n);
  pkb::PacketExchange exchange(pipes, message.channel);
  for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
    const uint2 mine = pkb::load_packet_data(x, message.first + i, n);
    for (int k = 0; k < pipes.size() - 1; ++k) exchange.send(pipes.other(k), i, mine);
    pkb::Float4 sum{};
    for (int s = 0; s < pipes.size(); ++s) pkb::add(sum, s == pipes.rank() ? mine : exchange.receive(s, i));
    pkb::store_packet_data(y, message.first + i, n, pkb::pack_bf16x4(sum));
  }
  exchange.finish();
}

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    all_reduce_pair(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk) {
  const pkb::Work work(2, chunk);
  if (work.role == 0) {
    pkb::ChunkSender out(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      out.wait_for_room();
      pkb::copy_block(out.chunk(pipes.other(0)), x + at, count);
      out.hand_over();
    }
    out.close();
  } else {
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      in.wait_for_chunks();
      pkb::sum_block(
          count, 2, [&](int s) { return s == pipes.rank() ? x + at : in.chunk(s); },
          [&](int i, uint4 sum) { pkb::store_elements(y + at, i, count, sum); });
      in.give_back();
    }
    in.close();
  }
}

// The group of W chunks that starts at `at` is one step: chunk o of it belongs to rank o.
__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    all_reduce_by_owners(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk) {
  const pkb::Work work(3, chunk, pipes.size());
  const int sums = pipes.channels / 2 + work.channel;
  const auto start = [&](int64_t at, int owner) { return at + int64_t{chunk} * owner; };
  if (work.role == 0) {  // send each owner its chunk
    pkb::ChunkSender out(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      out.wait_for_room();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int owner = pipes.other(k);
        const int64_t from = start(at, owner);
        pkb::copy_block(out.chunk(owner), x + from, pkb::chunk_elements(from, chunk, n));
      }
      out.hand_over();
    }
    out.close();
  } else if (work.role == 1) {  // add the own chunk and send the sum to all
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
    pkb::ChunkSender out(pipes, sums, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int64_t own = start(at, pipes.rank());
      const int count = pkb::chunk_elements(own, chunk, n);
      in.wait_for_chunks();
      out.wait_for_room();
      pkb::sum_block(
          count, pipes.size(), [&](int s) { return s == pipes.rank() ? x + own : in.chunk(s); },
          [&](int i, uint4 sum) {
            for (int k = 0; k < pipes.size() - 1; ++k) pkb::store_vector(out.chunk(pipes.other(k)) + 8 * i, sum);
            pkb::store_elements(y + own, i, count, sum);
          });
      out.hand_over();
      in.give_back();
    }
    in.close();
    out.close();
  } else {  // collect the sums
    pkb::ChunkReceiver in(pipes, sums, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      in.wait_for_chunks();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int owner = pipes.other(k);
        const int64_t to = start(at, owner);
        pkb::copy_block(y + to, in.chunk(owner), pkb::chunk_elements(to, chunk, n));
      }
      in.give_back();
    }
    in.close();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    const int channels = context->world == 2 ? pkb::resident_channels(context, {{all_reduce_pair, 2}})
                                             : pkb::resident_channels(context, {{all_reduce_by_owners, 3}});
    *state = new State{pkb::make_pipes(context, 2 * channels), channels};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& [pipes, channels] = *static_cast<const State*>(state);
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int64_t n = x.elements();
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    if (pkb::suits_packets(pipes, n, pipes.size() - 1)) {
      const pkb::PacketLaunch launch(n);
      all_reduce_packets<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n);
    } else if (pipes.size() == 2) {
      const pkb::ChunkLaunch launch(channels, 2, n);
      all_reduce_pair<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk);
    } else {
      const pkb::ChunkLaunch launch(channels, 3, n, pipes.size());
      all_reduce_by_owners<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk);
    }
    pkb::check_launch("all_reduce");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
