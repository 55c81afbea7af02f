// SPDX-License-Identifier: Apache-2.0
//
// y = x_src on every rank  x_src [M, N] bf16, y [M, N]; the other ranks' x does not matter
//
// The root, a scalar of the call, pushes its x to every peer. It hears nothing back: first it looks for room.
// Small: as messages, whose words show by themselves that they are there: one kernel, one trip over the link.
// Larger: each peer gets one of W-1 parts from the root and forwards it to the W-2 others as it comes, so that the root
// sends x once. Up to 2 MiB a part as messages, above in chunks, pushed and then flagged.
//
// Bytes the root sends: (W-1)|x| directly, |x| forwarded, the least there is.
// At 365 GB/s a direction 2 MiB take 5.7 us; forwarded for any W, with one more trip for the second hop.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

// A second hop costs 1.5 us, in which a link carries this many bytes.
constexpr int64_t kBytesWorthAHop = 512 << 10;

struct State {
  pkb::Pipes pipes;
};

__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    broadcast_direct(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int share, int src) {
  const pkb::Message message(share, pkb::vectors_of(n));
  const auto store = [&](int i, uint4 v) { pkb::store_elements(y, message.first + i, n, v); };
  if (pipes.rank() == src) {
    pkb::MessageSender out(pipes, message.channel, pipes.others());
    out.wait_for_room();
    const auto load = [&](int i) { return pkb::load_elements(x, message.first + i, n); };
    pkb::for_each_vector(message, load, [&](int i, uint4 v) {
      for (int k = 0; k < pipes.size() - 1; ++k) out.send(pipes.other(k), i, v);
      store(i, v);
    });
    out.finish();
  } else {
    pkb::MessageReceiver in(pipes, message.channel, 1u << src);
    pkb::for_each_vector(
        message, [&](int i) { return in.receive(src, i); }, store);
    in.finish();
  }
}

// Each peer, in the order of ranks without the root, forwards `part` vectors.
__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    broadcast_forwarded(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int64_t part,
                        int share, int src) {
  const pkb::Message message(share, part);
  const auto vector = [&](int forwarder, int i) { return part * (forwarder - (forwarder > src)) + message.first + i; };
  const auto store = [&](int forwarder, int i, uint4 v) { pkb::store_elements(y, vector(forwarder, i), n, v); };
  if (pipes.rank() == src) {
    pkb::MessageSender out(pipes, message.channel, pipes.others());
    out.wait_for_room();
    for (int k = 0; k < pipes.size() - 1; ++k) {
      const int forwarder = pipes.other(k);
      pkb::for_each_vector(
          message, [&](int i) { return pkb::load_elements(x, vector(forwarder, i), n); },
          [&](int i, uint4 v) {
            out.send(forwarder, i, v);
            store(forwarder, i, v);
          });
    }
    out.finish();
  } else {
    const uint32_t peers = pipes.others() & ~(1u << src);
    pkb::MessageReceiver in(pipes, message.channel, 1u << src), forwarded(pipes, message.channel, peers);
    pkb::MessageSender out(pipes, message.channel, peers);
    out.wait_for_room();
    pkb::for_each_vector(
        message, [&](int i) { return in.receive(src, i); },
        [&](int i, uint4 v) {
          for (int k = 0; k < pipes.size() - 1; ++k) {
            if (pipes.other(k) != src) out.send(pipes.other(k), i, v);
          }
          store(pipes.rank(), i, v);
        });
    for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
      forwarded.receive(i, {}, [&](int forwarder, uint4 v) {
        if (forwarder != pipes.rank()) store(forwarder, i, v);
      });
    }
    in.finish();
    forwarded.finish();
    out.finish();
  }
}

// The group of W-1 chunks that starts at `at` is one step: each peer forwards one of it, in the order of ranks without
// the root.
__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    broadcast_chunks(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int src) {
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
    out.finish();
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
    in.finish();
    out.finish();
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
    in.finish();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    const int channels =
        pkb::resident_channels(context, {{broadcast_direct, 1}, {broadcast_forwarded, 1}, {broadcast_chunks, 2}});
    *state = new State{pkb::make_pipes(context, channels)};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const pkb::Pipes& pipes = static_cast<const State*>(state)->pipes;
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int src = static_cast<int>(pkb::scalar_int(arguments, "src"));
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    const int peers = pipes.size() - 1;
    const int64_t n = x.elements(), vectors = pkb::vectors_of(n), part = pkb::divide_up(vectors, peers);
    const int64_t saved_by_forwarding = x.bytes() * (peers - 1);
    if (saved_by_forwarding <= kBytesWorthAHop && pkb::fit_messages(pipes.channels, vectors)) {
      const pkb::MessageLaunch launch(pipes.channels, vectors);
      broadcast_direct<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, launch.share, src);
    } else if (pkb::fit_messages(pipes.channels, part)) {
      const pkb::MessageLaunch launch(pipes.channels, part);
      broadcast_forwarded<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, part, launch.share, src);
    } else {
      const pkb::ChunkLaunch launch(pipes.channels, 2, n, peers);
      broadcast_chunks<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, src);
    }
    pkb::check_launch("broadcast");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
