// SPDX-License-Identifier: Apache-2.0
//
// y = x_src on every rank  x_src [M, N] bf16, y [M, N]; the other ranks' x does not matter
//
// The root, a scalar of the call, pushes its x to every peer. It hears nothing back: first it looks for room.
// Small: as packets, in one kernel with one trip over the link. Else: in chunks, pushed and then flagged.
// Large, more than two ranks: of every W-1 chunks each peer gets one from the root and forwards it to the W-2 others as
// it comes, so that the root sends x once.
//
// Bytes the root sends: (W-1)|x| directly (twice that as packets), |x| forwarded, the least there is.
// At 365 GB/s a direction 2 MiB take 5.7 us; forwarded for any W, with one more trip for the second hop.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

// A second hop costs 3 us, in which a link carries this many bytes.
constexpr int64_t kBytesWorthAHop = 1 << 20;

struct State {
  pkb::Pipes pipes;
  int forward_channels;
};

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    broadcast_packets(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int src) {
  const pkb::Message message(n);
  if (pipes.rank() == src) {
    pkb::PacketSender out(pipes, message.channel, pipes.others());
    out.wait_for_room();
    for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
      const uint2 data = pkb::load_packet_data(x, message.first + i, n);
      for (int k = 0; k < pipes.size() - 1; ++k) out.send(pipes.other(k), i, data);
      pkb::store_packet_data(y, message.first + i, n, data);
    }
    out.finish();
  } else {
    pkb::PacketReceiver in(pipes, message.channel, 1u << src);
    for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
      pkb::store_packet_data(y, message.first + i, n, in.receive(src, i));
    }
    in.finish();
  }
}

__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    broadcast_direct(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int src) {
  const pkb::Work work(1, chunk);
  if (pipes.rank() == src) {
    pkb::ChunkSender out(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int count = pkb::chunk_elements(at, chunk, n);
      out.wait_for_room();
      for (int k = 0; k < pipes.size() - 1; ++k) pkb::copy_block(out.chunk(pipes.other(k)), x + at, count);
      out.hand_over();
      pkb::copy_block(y + at, x + at, count);
    }
    out.close();
  } else {
    pkb::ChunkReceiver in(pipes, work.channel, 1u << src);
    for (int64_t at = work.first; at < n; at += work.stride) {
      in.wait_for_chunks();
      pkb::copy_block(y + at, in.chunk(src), pkb::chunk_elements(at, chunk, n));
      in.give_back();
    }
    in.close();
  }
}

// The group of W-1 chunks that starts at `at` is one step: each peer forwards one of it, in the order of ranks without
// the root.
__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    broadcast_forwarded(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk,
                        int src) {
  const pkb::Work work(2, chunk, pipes.size() - 1);
  const uint32_t peers = pipes.others() & ~(1u << src);  // of a rank that is not the root: those that are not either
  const auto start = [&](int64_t at, int forwarder) { return at + int64_t{chunk} * (forwarder - (forwarder > src)); };
  if (pipes.rank() == src && work.role == 0) {  // send each peer its chunk
    pkb::ChunkSender out(pipes, work.channel, pipes.others());
    for (int64_t at = work.first; at < n; at += work.stride) {
      out.wait_for_room();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int64_t from = start(at, pipes.other(k));
        pkb::copy_block(out.chunk(pipes.other(k)), x + from, pkb::chunk_elements(from, chunk, n));
      }
      out.hand_over();
    }
    out.close();
  } else if (pipes.rank() == src) {  // the root's own copy
    const int group = chunk * (pipes.size() - 1);
    for (int64_t at = work.first; at < n; at += work.stride) {
      pkb::copy_block(y + at, x + at, pkb::chunk_elements(at, group, n));
    }
  } else if (work.role == 0) {  // keep the chunk that comes from the root, and forward it
    pkb::ChunkReceiver in(pipes, work.channel, 1u << src);
    pkb::ChunkSender out(pipes, work.channel, peers);
    for (int64_t at = work.first; at < n; at += work.stride) {
      const int64_t own = start(at, pipes.rank());
      const int count = pkb::chunk_elements(own, chunk, n);
      out.wait_for_room();
      in.wait_for_chunks();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int peer = pipes.other(k);
        if (peer != src) pkb::copy_block(out.chunk(peer), in.chunk(src), count);
      }
      out.hand_over();
      pkb::copy_block(y + own, in.chunk(src), count);
      in.give_back();
    }
    in.close();
    out.close();
  } else {  // collect what the others forward
    pkb::ChunkReceiver in(pipes, work.channel, peers);
    for (int64_t at = work.first; at < n; at += work.stride) {
      in.wait_for_chunks();
      for (int k = 0; k < pipes.size() - 1; ++k) {
        const int peer = pipes.other(k);
        const int64_t to = start(at, peer);
        if (peer != src) pkb::copy_block(y + to, in.chunk(peer), pkb::chunk_elements(to, chunk, n));
      }
      in.give_back();
    }
    in.close();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    const int channels = pkb::resident_channels(context, {{broadcast_direct, 1}});
    *state = new State{pkb::make_pipes(context, channels),
                       pkb::resident_channels(context, {{broadcast_direct, 1}, {broadcast_forwarded, 2}})};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& [pipes, forward_channels] = *static_cast<const State*>(state);
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int src = static_cast<int>(pkb::scalar_int(arguments, "src"));
    const int64_t n = x.elements();
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    if (pkb::suits_packets(pipes, n, pipes.size() - 1)) {
      const pkb::PacketLaunch launch(n);
      broadcast_packets<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, src);
    } else if (x.bytes() * (pipes.size() - 2) <= kBytesWorthAHop) {
      const pkb::ChunkLaunch launch(pipes.channels, 1, n);
      broadcast_direct<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, src);
    } else {
      const pkb::ChunkLaunch launch(forward_channels, 2, n, pipes.size() - 1);
      broadcast_forwarded<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, src);
    }
    pkb::check_launch("broadcast");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
