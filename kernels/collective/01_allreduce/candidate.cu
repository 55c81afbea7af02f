// SPDX-License-Identifier: Apache-2.0
//
// y = sum_r x_r            x_r [M, N] bf16, every rank gets y
//
// Additions are in fp32, in rank order, rounded once: the same bits on every rank.
// Small: each rank sends its x to every peer, as messages whose words show by themselves that they are there, and adds
// what it gets: one kernel, one trip over the link.
// Larger: each rank owns one of W parts. All push to the owners; an owner adds its part and pushes the sum to all. Up
// to 2 MiB a part as messages; above in chunks, pushed and then flagged, where the three steps are different blocks.
//
// Bytes a rank sends: (W-1)|x| directly, 2(W-1)/W |x| by owners, the least there is without a switch that adds.
// At 365 GB/s a direction 2 MiB take 5.7 us with W = 2, 8.6 with 4, 10 with 8.
#include "pkb/candidate.h"
#include "pkb/pipes.cuh"

namespace {

using pkb::bf16;

// A second hop costs 1.5 us, in which a link carries this many bytes.
constexpr int64_t kBytesWorthAHop = 512 << 10;

struct State {
  pkb::Pipes pipes;  // the upper half of the channels carries sums
  int channels;
};

__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    all_reduce_direct(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int share) {
  const pkb::Message message(share, pkb::vectors_of(n));
  pkb::MessageExchange exchange(pipes, message.channel);
  const auto load = [&](int i) { return pkb::load_elements(x, message.first + i, n); };
  pkb::for_each_vector(message, load, [&](int i, uint4 v) {
    for (int k = 0; k < pipes.size() - 1; ++k) exchange.send(pipes.other(k), i, v);
  });
  pkb::for_each_vector(message, load, [&](int i, uint4 own) {
    pkb::Float8 sum{};
    exchange.receive(i, own, [&](int, uint4 v) { pkb::add(sum, v); });
    pkb::store_elements(y, message.first + i, n, pkb::pack_bf16x8(sum));
  });
  exchange.finish();
}

// Rank o owns vectors o * part .. (o + 1) * part - 1; what lies beyond the tensor is sent as zeros, so that all hear
// from all.
__global__ void __launch_bounds__(pkb::kPipeThreads, 1)
    all_reduce_by_owners(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int64_t part,
                         int share) {
  const pkb::Message message(share, part);
  pkb::MessageExchange parts(pipes, message.channel), sums(pipes, pipes.channels / 2 + message.channel);
  const auto load = [&](int owner) {
    return [&, owner](int i) { return pkb::load_elements(x, part * owner + message.first + i, n); };
  };
  const auto store = [&](int owner, int i, uint4 v) { pkb::store_elements(y, part * owner + message.first + i, n, v); };
  for (int k = 0; k < pipes.size() - 1; ++k) {
    const int owner = pipes.other(k);
    pkb::for_each_vector(message, load(owner), [&](int i, uint4 v) { parts.send(owner, i, v); });
  }
  pkb::for_each_vector(message, load(pipes.rank()), [&](int i, uint4 own) {
    pkb::Float8 total{};
    parts.receive(i, own, [&](int, uint4 v) { pkb::add(total, v); });
    const uint4 sum = pkb::pack_bf16x8(total);
    for (int k = 0; k < pipes.size() - 1; ++k) sums.send(pipes.other(k), i, sum);
    store(pipes.rank(), i, sum);
  });
  for (int i = threadIdx.x; i < message.count; i += blockDim.x) {
    sums.receive(i, {}, [&](int owner, uint4 v) {
      if (owner != pipes.rank()) store(owner, i, v);
    });
  }
  parts.finish();
  sums.finish();
}

// The group of W chunks that starts at `at` is one step: chunk o of it belongs to rank o.
__global__ void __launch_bounds__(pkb::kPipeThreads, 2)
    all_reduce_chunks(const __grid_constant__ pkb::Pipes pipes, const bf16* x, bf16* y, int64_t n, int chunk) {
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
    out.finish();
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
    in.finish();
    out.finish();
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
    in.finish();
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  return pkb::guarded([&] {
    const int channels =
        pkb::resident_channels(context, {{all_reduce_direct, 1}, {all_reduce_by_owners, 1}, {all_reduce_chunks, 3}});
    *state = new State{pkb::make_pipes(context, 2 * channels), channels};
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& [pipes, channels] = *static_cast<const State*>(state);
    const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
    const auto* from = x.data<const bf16>();
    auto* to = y.data<bf16>();
    const int world = pipes.size();
    const int64_t n = x.elements(), vectors = pkb::vectors_of(n), part = pkb::divide_up(vectors, world);
    const int64_t saved_by_owners = x.bytes() * (world - 1) * (world - 2) / world;
    if (saved_by_owners <= kBytesWorthAHop && pkb::fit_messages(channels, vectors)) {
      const pkb::MessageLaunch launch(channels, vectors);
      all_reduce_direct<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, launch.share);
    } else if (pkb::fit_messages(channels, part)) {
      const pkb::MessageLaunch launch(channels, part);
      all_reduce_by_owners<<<launch.blocks, launch.threads, 0, stream>>>(pipes, from, to, n, part, launch.share);
    } else {
      const pkb::ChunkLaunch launch(channels, 3, n, world);
      all_reduce_chunks<<<launch.blocks, pkb::kPipeThreads, 0, stream>>>(pipes, from, to, n, launch.chunk);
    }
    pkb::check_launch("all_reduce");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
