// SPDX-License-Identifier: Apache-2.0
//
// y = sum_r x_r on rank dst  x_r [M, N] bf16, y [M, N]; the other ranks have no y
//
// Additions are in fp32, in rank order, rounded once. The root is a scalar of the call.
// Every other rank pushes its x to the root, which adds. It hears nothing back: first it looks for room.
// Small: as messages, whose words show by themselves that they are there: one kernel, one trip over the link.
// Larger: each rank but the root owns one of W-1 parts. All push to the owners; an owner adds its part and pushes the
// sum to the root. Up to 2 MiB a part as messages, above in chunks, pushed and then flagged.
//
// Bytes on the busiest link: (W-1)|x| directly, |x| by owners, the least there is.
// At 365 GB/s a direction 2 MiB take 5.7 us; by owners for any W, with one more trip for the second hop.
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
    reduce_direct(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int share, int dst) {
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
      pkb::Float8 sum{};
      in.receive(i, own, [&](int, uint4 v) { pkb::add(sum, v); });
      pkb::store_elements(y, message.first + i, n, pkb::pack_bf16x8(sum));
    });
    in.finish();
  }
}

// Each rank but the root, in the order of ranks, owns `part` vectors.
__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    reduce_by_owners(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int64_t part,
                     int share, int dst) {
  const pkb::Message message(share, part);
  const auto vector = [&](int owner, int i) { return part * (owner - (owner > dst)) + message.first + i; };
  const auto load = [&](int owner) { return [&, owner](int i) { return pkb::load_elements(x, vector(owner, i), n); }; };
  pkb::MessageSender parts(pipes, message.channel, pipes.others() & ~(1u << dst));
  parts.wait_for_room();
  for (int k = 0; k < pipes.size() - 1; ++k) {
    const int owner = pipes.other(k);
    if (owner == dst) continue;
    pkb::for_each_vector(message, load(owner), [&](int i, uint4 v) { parts.send(owner, i, v); });
  }
  pkb::MessageReceiver in(pipes, message.channel, pipes.others());
  if (pipes.rank() != dst) {
    pkb::MessageSender sums(pipes, message.channel, 1u << dst);
    sums.wait_for_room();
    pkb::for_each_vector(message, load(pipes.rank()), [&](int i, uint4 own) {
      pkb::Float8 sum{};
      in.receive(i, own, [&](int, uint4 v) { pkb::add(sum, v); });
      sums.send(dst, i, pkb::pack_bf16x8(sum));
    });
    sums.finish();
  } else {
    for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
      in.receive(i, {}, [&](int owner, uint4 v) {
        if (owner != dst) pkb::store_elements(y, vector(owner, i), n, v);
      });
    }
  }
  in.finish();
  parts.finish();
}

// The group of W-1 chunks that starts at `at` is one step: each rank but the root owns one of it, in the order of
// ranks.
__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    reduce_chunks(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk, int dst) {
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
    out.finish();
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
    in.finish();
    out.finish();
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
    in.finish();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    const int channels =
        pkb::resident_channels(context, {{reduce_direct, 1}, {reduce_by_owners, 1}, {reduce_chunks, 2}});
    *state = new State{pkb::make_pipes(context, channels)};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const pkb::Pipes& pipes = static_cast<const State*>(state)->pipes;
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const int dst = static_cast<int>(pkb::scalar_int(arguments, "dst"));
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    const int owners = pipes.size() - 1;
    const int64_t n = x.elements(), vectors = pkb::vectors_of(n), part = pkb::divide_up(vectors, owners);
    const int64_t saved_by_owners = x.bytes() * (owners - 1);
    if (saved_by_owners <= kBytesWorthAHop && pkb::fit_messages(pipes.channels, vectors)) {
      const pkb::MessageLaunch launch(pipes.channels, vectors);
      reduce_direct<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, launch.share, dst);
    } else if (pkb::fit_messages(pipes.channels, part)) {
      const pkb::MessageLaunch launch(pipes.channels, part);
      reduce_by_owners<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, part, launch.share, dst);
    } else {
      const pkb::ChunkLaunch launch(pipes.channels, 2, n, owners);
      reduce_chunks<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk, dst);
    }
    pkb::check_launch("reduce");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
