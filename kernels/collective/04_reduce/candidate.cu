// SPDX-License-Identifier: Apache-2.0
//
// y = sum_r x_r on rank dst  x_r [M, N] bf16, y [M, N]; the other ranks have no y
//
// Additions are in fp32, in rank order, rounded once. The root is a scalar of the call.
// Every other rank pushes its x to the root, which adds. It hears nothing back: first it looks for room.
// Small: as packets, in one kernel with one trip over the link. Else: in chunks, pushed and then flagged.
// Large, more than two ranks: of every W-1 chunks each rank but the root owns one. All push to the owners; an owner
// adds its chunk and pushes the sum to the root.
//
// Bytes on the busiest link: (W-1)|x| directly (twice that as packets), |x| by owners, the least there is.
// At 365 GB/s a direction 2 MiB take 5.7 us; by owners for any W, with one more trip for the second hop.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

// A second hop costs 3 us, in which a link carries this many bytes.
constexpr int64_t kBytesWorthAHop = 1 << 20;

struct State {
  pkb::Pipes pipes;
  int owner_channels;
};

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    reduce_packets(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int dst) {
  const pkb::Message message(n);
  if (pipes.rank() != dst) {
    pkb::PacketSender out(pipes, message.channel, 1u << dst);
    out.wait_for_room();
    for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
      out.send(dst, i, pkb::load_packet_data(x, message.first + i, n));
    }
    out.finish();
  } else {
    pkb::PacketReceiver in(pipes, message.channel, pipes.others());
    for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
      const int64_t at = message.first + i;
      const uint2 mine = pkb::load_packet_data(x, at, n);
      pkb::Float4 sum{};
      for (int s = 0; s < pipes.size(); ++s) pkb::add(sum, s == dst ? mine : in.receive(s, i));
      pkb::store_packet_data(y, at, n, pkb::pack_bf16x4(sum));
    }
    in.finish();
  }
}

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    reduce_direct(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int dst) {
  const pkb::Work work(1, chunk);
  if (pipes.rank() != dst) {
    pkb::ChunkSender out(pipes, work.channel, 1u << dst);
    for (int64_t at = work.first; at < n; at += work.stride) {
      out.wait_for_room();
      pkb::copy_block(out.chunk(dst), x + at, pkb::chunk_elements(at, chunk, n));
      out.hand_over();
    }
    out.close();
  } else {
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      in.wait_for_chunks();
      pkb::sum_block(
          count, pipes.size(), [&](int s) { return s == dst ? x + at : in.chunk(s); },
          [&](int i, uint4 sum) { pkb::store_elements(y + at, i, count, sum); });
      in.give_back();
    }
    in.close();
  }
}

// The group of W-1 chunks that starts at `at` is one step: each rank but the root owns one of it, in the order of
// ranks.
__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    reduce_by_owners(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int dst) {
  const pkb::Work work(2, chunk, pipes.size() - 1);
  const auto start = [&](int64_t at, int owner) { return at + int64_t{chunk} * (owner - (owner > dst)); };
  if (work.role == 0) {  // send each owner its chunk
    pkb::ChunkSender out(pipes, work.channel, pipes.others() & ~(1u << dst));
    for (int64_t at = work.first; at < n; at += work.stride) {
      out.wait_for_room();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int owner = pipes.other(k);
        const int64_t from = start(at, owner);
        if (owner != dst) pkb::copy_block(out.chunk(owner), x + from, pkb::chunk_elements(from, chunk, n));
      }
      out.hand_over();
    }
    out.close();
  } else if (pipes.rank() != dst) {  // add the own chunk and send the sum to the root
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
    pkb::ChunkSender out(pipes, work.channel, 1u << dst);
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int64_t own = start(at, pipes.rank());
      in.wait_for_chunks();
      out.wait_for_room();
      bf16* sums = out.chunk(dst);
      pkb::sum_block(
          pkb::chunk_elements(own, chunk, n), pipes.size(),
          [&](int s) { return s == pipes.rank() ? x + own : in.chunk(s); },
          [&](int i, uint4 sum) { pkb::store_vector(sums + 8 * i, sum); });
      out.hand_over();
      in.give_back();
    }
    in.close();
    out.close();
  } else {  // collect the sums
    pkb::ChunkReceiver in(pipes, work.channel, pipes.others());
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
    const int channels = pkb::resident_channels(context, {{reduce_direct, 1}});
    *state = new State{pkb::make_pipes(context, channels),
                       pkb::resident_channels(context, {{reduce_direct, 1}, {reduce_by_owners, 2}})};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& [pipes, owner_channels] = *static_cast<const State*>(state);
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int dst = static_cast<int>(pkb::scalar_int(arguments, "dst"));
    const int64_t n = x.elements();
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    if (pkb::suits_packets(pipes, n, pipes.size() - 1)) {
      const pkb::PacketLaunch launch(n);
      reduce_packets<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, dst);
    } else if (x.bytes() * (pipes.size() - 2) <= kBytesWorthAHop) {
      const pkb::ChunkLaunch launch(pipes.channels, 1, n);
      reduce_direct<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, dst);
    } else {
      const pkb::ChunkLaunch launch(owner_channels, 2, n, pipes.size() - 1);
      reduce_by_owners<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, dst);
    }
    pkb::check_launch("reduce");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
