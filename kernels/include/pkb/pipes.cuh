// SPDX-License-Identifier: Apache-2.0
//
// Pipes between the ranks of a group, for tensors of any size that no peer can address: the data pass through slots of
// fixed size in symmetric memory. A *channel* is a pipe from every rank to every other rank, run by one block at either
// end. There are two ways to send:
//
//   messages  up to 16 KiB a channel and call, in words that show by themselves that they are there: one trip over the
//             link, no fence, no flag. Every thread sends its words and waits for those that it needs.
//   chunks    without limit. The sender pushes a chunk into a ring in the receiver's memory and raises a flag there;
//             the receiver takes it and raises a flag back: there is room again. Some blocks send, others receive.
//
// Messages and chunks are counted since setup, at both ends, in device memory. So calls need no barrier between them: a
// rank may run ahead while there is room, roots and sizes may change from call to call, and a captured graph counts on.
// All ranks make the same calls and deal their data out to channels in the same way.
//
// Nobody waits for ever: a receiver waits for a sender, and a sender for the receiver of something *older*, in blocks
// that are all resident (`resident_channels` and the launches below see to it).
#pragma once

#include <initializer_list>

#include "pkb/arguments.h"
#include "pkb/device.cuh"

namespace pkb {

constexpr int kPipeThreads = 512;
constexpr int kMessageVectors = 1024;  ///< 16 KiB, two vectors a thread
constexpr int kMessageDepth = 2;       ///< sets of slots
constexpr int kChunkElements = 8192;   ///< bf16, 16 KiB
constexpr int kFlagWords = 32;         ///< a flag has a cache line of its own

/// A slot for a word holds kEmpty until data land on it; the reader puts kEmpty back. The two words that cannot be sent
/// as they are, one being kEmpty, go as kEscape, and their bits as packets beside it: slow, and rare, four NaNs of all
/// ones.
constexpr uint64_t kEmpty = ~uint64_t{0}, kEscape = kEmpty - 1;

/// Slots of one kind, byte offsets into symmetric memory.
struct Ring {
  int64_t slots;     ///< [channel][source][depth], written by the source
  int64_t arrived;   ///< flags [channel][source]: how many this source has sent
  int64_t freed;     ///< flags [channel][destination]: how many of ours this destination has taken
  int64_t sent;      ///< private counts [channel][destination]
  int64_t received;  ///< private counts [channel][source]
  int slot_bytes;
  uint32_t depth;  ///< a power of two, so that slots go round evenly when the 32-bit counts wrap
};

/// Kernels take it as `const __grid_constant__ Pipes`. Sets of ranks are bit masks.
struct Pipes {
  Peers<char> memory;
  Ring messages;
  Ring chunks;
  int64_t escapes;  ///< beside the messages' slots: a PacketPair for each word
  int channels;

  __host__ __device__ int size() const { return memory.size; }
  __host__ __device__ int rank() const { return memory.index; }
  __host__ __device__ int other(int i) const { return memory.other(i); }
  __host__ __device__ uint32_t others() const { return ((1u << memory.size) - 1) & ~(1u << memory.index); }
};

/// Collective; setup only. `channels` must be the same on all ranks.
inline Pipes make_pipes(const pkb_context* context, int channels, const char* group = nullptr) {
  const int size = find_group(context, group).size;
  const int64_t pairs = static_cast<int64_t>(channels) * size;
  Layout layout;
  const auto ring = [&](int slot_bytes, int depth) {
    Ring r{};
    r.slots = layout.add<char>(pairs * depth * slot_bytes);
    r.arrived = layout.add<uint32_t>(pairs * kFlagWords);
    r.freed = layout.add<uint32_t>(pairs * kFlagWords);
    r.sent = layout.add<uint32_t>(pairs);
    r.received = layout.add<uint32_t>(pairs);
    r.slot_bytes = slot_bytes;
    r.depth = static_cast<uint32_t>(depth);
    return r;
  };
  Pipes pipes{};
  pipes.channels = channels;
  pipes.messages = ring(kMessageVectors * static_cast<int>(sizeof(WordPair)), kMessageDepth);
  pipes.chunks = ring(kChunkElements * 2, size <= 2 ? 4 : 2);  // as deep as all the rings can be and stay in L2
  pipes.escapes = layout.add<PacketPair>(pairs * kMessageDepth * kMessageVectors * 2);
  const Symmetric memory(context, layout.bytes(), group);
  pipes.memory = memory.peers<char>();
  const int64_t slot_bytes = pairs * kMessageDepth * pipes.messages.slot_bytes;
  check(cudaMemset(memory.local<char>(pipes.messages.slots), 0xff, static_cast<size_t>(slot_bytes)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  if (context->host_barrier(context, group) != 0) throw std::runtime_error("the barrier of make_pipes failed");
  return pipes;
}

/// A kernel that runs `roles` blocks a channel.
struct ChannelKernel {
  const void* kernel;
  int roles;
  template <class... Parameters>
  ChannelKernel(void (*function)(Parameters...), int block_roles)
      : kernel(reinterpret_cast<const void*>(function)), roles(block_roles) {}
};
/// How many channels such kernels may have with all their blocks resident; at most one an SM.
inline int resident_channels(const pkb_context* context, std::initializer_list<ChannelKernel> kernels) {
  int channels = context->device.sm_count;
  for (const ChannelKernel& k : kernels) {
    channels = std::min(channels, co_resident_blocks(context, k.kernel, kPipeThreads) / k.roles);
  }
  if (channels < 1) throw std::runtime_error("the device is too small for one channel");
  return channels;
}

// ----------------------------------------------------------------------------------------------- the ends of a pipe

/// One end of a channel towards a set of peers during one call; what senders and receivers have in common.
class PipeEnd {
 protected:
  __device__ PipeEnd(const Pipes& pipes, const Ring& ring, int64_t counts, int channel, uint32_t peers)
      : pipes_(pipes), ring_(ring), counts_(counts), channel_(channel), peers_(peers) {}

  /// Thread p looks after peer p.
  __device__ int peer() const { return static_cast<int>(threadIdx.x); }
  __device__ bool mine() const { return threadIdx.x < kMaxRanks && has(peer()); }
  __device__ bool has(int peer) const { return (peers_ >> peer & 1u) != 0; }

  /// The number of this step's message or chunk, from 0 on.
  __device__ uint32_t number(int peer) const { return *count(peer) + step_; }
  __device__ int64_t pair(int peer) const { return static_cast<int64_t>(channel_) * pipes_.size() + peer; }
  __device__ int64_t slot_index(int source, uint32_t number) const {
    return pair(source) * ring_.depth + (number & (ring_.depth - 1));
  }
  __device__ void* slot(int owner, int source, uint32_t number) const {
    return pipes_.memory[owner] + ring_.slots + slot_index(source, number) * ring_.slot_bytes;
  }
  __device__ uint32_t* flag(int owner, int64_t flags, int peer) const {
    return reinterpret_cast<uint32_t*>(pipes_.memory[owner] + flags) + pair(peer) * kFlagWords;
  }
  __device__ uint32_t* count(int peer) const {
    return reinterpret_cast<uint32_t*>(pipes_.memory.local() + counts_) + pair(peer);
  }

  /// Block. Sender: until what was in this step's slot before has been taken.
  __device__ void await_room() const {
    if (mine()) wait(flag(pipes_.rank(), ring_.freed, peer()), number(peer()) + 1 - ring_.depth);
    __syncthreads();
  }
  /// Block. Receiver: all threads are done with this step's slot.
  __device__ void return_room() {
    __syncthreads();
    if (mine()) signal(flag(peer(), ring_.freed, pipes_.rank()), number(peer()) + 1);
    ++step_;
  }
  /// Block. Ends the call: the counts go back to memory.
  __device__ void store_counts() const {
    __syncthreads();
    if (mine()) *count(peer()) += step_;
  }

  const Pipes& pipes_;
  const Ring& ring_;
  const int64_t counts_;
  const int channel_;
  const uint32_t peers_;
  uint32_t step_ = 0;
};

/// One end of a message.
class MessageEnd : public PipeEnd {
 protected:
  using PipeEnd::PipeEnd;

  __device__ WordPair* words(int owner, int source, uint32_t number) const {
    return static_cast<WordPair*>(slot(owner, source, number));
  }
  __device__ PacketPair* escapes(int owner, int source, uint32_t number) const {
    return reinterpret_cast<PacketPair*>(pipes_.memory[owner] + pipes_.escapes) +
           slot_index(source, number) * (2 * kMessageVectors);
  }

  __device__ void send_vector(int peer, uint32_t number, int i, uint4 v) const {
    WordPair w{static_cast<uint64_t>(v.y) << 32 | v.x, static_cast<uint64_t>(v.w) << 32 | v.z};
    PacketPair* escape = escapes(peer, pipes_.rank(), number) + 2 * i;
    if (cannot_be_sent(w.a)) store_packet(escape, make_uint2(v.x, v.y), number + 1), w.a = kEscape;
    if (cannot_be_sent(w.b)) store_packet(escape + 1, make_uint2(v.z, v.w), number + 1), w.b = kEscape;
    store_words(words(peer, pipes_.rank(), number) + i, w);
  }
  /// `w` is what a first look at the slot has found.
  __device__ uint4 receive_vector(int peer, uint32_t number, int i, WordPair w) const {
    WordPair* place = words(pipes_.rank(), peer, number) + i;
    while (w.a == kEmpty || w.b == kEmpty) {
      poll_pause();
      w = load_words(place);
    }
    store_words(place, {kEmpty, kEmpty});
    uint4 v = make_uint4(static_cast<uint32_t>(w.a), static_cast<uint32_t>(w.a >> 32), static_cast<uint32_t>(w.b),
                         static_cast<uint32_t>(w.b >> 32));
    const PacketPair* escape = escapes(pipes_.rank(), peer, number) + 2 * i;
    if (w.a == kEscape) {
      const uint2 bits = poll_packet(escape, number + 1);
      v.x = bits.x, v.y = bits.y;
    }
    if (w.b == kEscape) {
      const uint2 bits = poll_packet(escape + 1, number + 1);
      v.z = bits.x, v.w = bits.y;
    }
    return v;
  }
  /// use(rank, v), in rank order, with vector i of every peer and, for the own rank, `own`. Looks at several slots at
  /// once.
  template <class Number, class Use>
  __device__ void receive_vectors(Number number, int i, uint4 own, Use use) const {
    constexpr int kBatch = 4;
    static_assert(kMaxRanks % kBatch == 0);
#pragma unroll 1
    for (int first = 0; first < pipes_.size(); first += kBatch) {
      WordPair w[kBatch];
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        const int rank = first + s;
        if (has(rank)) w[s] = load_words(words(pipes_.rank(), rank, number(rank)) + i);
      }
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        const int rank = first + s;
        if (has(rank)) {
          use(rank, receive_vector(rank, number(rank), i, w[s]));
        } else if (rank == pipes_.rank()) {
          use(rank, own);
        }
      }
    }
  }
  __device__ static bool cannot_be_sent(uint64_t word) {
    return (word | 1) == kEmpty;
  }
};

/// Sends a message to every peer of a set.
class MessageSender : public MessageEnd {
 public:
  __device__ MessageSender(const Pipes& pipes, int channel, uint32_t peers)
      : MessageEnd(pipes, pipes.messages, pipes.messages.sent, channel, peers) {}
  /// Block.
  __device__ void wait_for_room() const { await_room(); }
  /// Vector i of the message to this peer, i < kMessageVectors.
  __device__ void send(int peer, int i, uint4 v) const { send_vector(peer, number(peer), i, v); }
  /// Block.
  __device__ void finish() {
    ++step_;
    store_counts();
  }
};

/// Receives a message from every peer of a set.
class MessageReceiver : public MessageEnd {
 public:
  __device__ MessageReceiver(const Pipes& pipes, int channel, uint32_t peers)
      : MessageEnd(pipes, pipes.messages, pipes.messages.received, channel, peers) {}
  /// Vector i of the message from this peer, or of every peer (see MessageEnd). Each once.
  __device__ uint4 receive(int peer, int i) const {
    const uint32_t n = number(peer);
    return receive_vector(peer, n, i, load_words(words(pipes_.rank(), peer, n) + i));
  }
  template <class Use>
  __device__ void receive(int i, uint4 own, Use use) const {
    receive_vectors([&](int peer) { return number(peer); }, i, own, use);
  }
  /// Block.
  __device__ void finish() {
    return_room();
    store_counts();
  }
};

/// Sends a message to and receives one, of the same length, from every other rank. Nobody waits for room: a rank sends
/// message m + 2, into the slots of m, when it has heard message m + 1 from that peer, whose call with m had ended
/// then, its slots empty again. A state uses this or MessageSender and MessageReceiver, not both.
class MessageExchange : public MessageEnd {
 public:
  __device__ MessageExchange(const Pipes& pipes, int channel)
      : MessageEnd(pipes, pipes.messages, pipes.messages.sent, channel, pipes.others()),
        number_(number(pipes.other(0))) {}  // the same towards all

  __device__ void send(int peer, int i, uint4 v) const { send_vector(peer, number_, i, v); }
  /// Vector i of every message (see MessageEnd). Each once.
  template <class Use>
  __device__ void receive(int i, uint4 own, Use use) const {
    receive_vectors([&](int) { return number_; }, i, own, use);
  }
  /// Block.
  __device__ void finish() {
    ++step_;
    store_counts();
  }

 private:
  const uint32_t number_;
};

/// Sends chunks to every peer of a set, step by step.
class ChunkSender : public PipeEnd {
 public:
  __device__ ChunkSender(const Pipes& pipes, int channel, uint32_t peers)
      : PipeEnd(pipes, pipes.chunks, pipes.chunks.sent, channel, peers) {}
  /// Block.
  __device__ void wait_for_room() const { await_room(); }
  /// Where this step's chunk for a peer goes: kChunkElements bf16, aligned.
  __device__ bf16* chunk(int peer) const { return static_cast<bf16*>(slot(peer, pipes_.rank(), number(peer))); }
  /// Block. What was stored there now belongs to the peers; the next step begins.
  __device__ void hand_over() {
    __syncthreads();
    if (mine()) signal(flag(peer(), ring_.arrived, pipes_.rank()), number(peer()) + 1);
    ++step_;
  }
  /// Block. Ends the call.
  __device__ void finish() const { store_counts(); }
};

/// Receives chunks from every peer of a set.
class ChunkReceiver : public PipeEnd {
 public:
  __device__ ChunkReceiver(const Pipes& pipes, int channel, uint32_t peers)
      : PipeEnd(pipes, pipes.chunks, pipes.chunks.received, channel, peers) {}
  /// Block.
  __device__ void wait_for_chunks() const {
    if (mine()) wait(flag(pipes_.rank(), ring_.arrived, peer()), number(peer()) + 1);
    __syncthreads();
  }
  __device__ const bf16* chunk(int peer) const {
    return static_cast<const bf16*>(slot(pipes_.rank(), peer, number(peer)));
  }
  /// Block. The senders may use the slots again; the next step begins.
  __device__ void give_back() { return_room(); }
  /// Block. Ends the call.
  __device__ void finish() const { store_counts(); }
};

// ------------------------------------------------------------------------------ dealing tensors out to the channels

/// Vectors of 8 bf16, the last one filled up.
__host__ __device__ inline int64_t vectors_of(int64_t elements) {
  return (elements + 7) / 8;
}

/// Whether so many vectors can go as messages.
inline bool fit_messages(int channels, int64_t vectors) {
  return vectors <= static_cast<int64_t>(channels) * kMessageVectors;
}
/// A launch of one block a channel for messages of `vectors` in all, spread over as many SMs as is worth it.
struct MessageLaunch {
  int blocks, threads;
  int share;  ///< vectors a channel
  MessageLaunch(int channels, int64_t vectors) {
    share =
        static_cast<int>(std::clamp<int64_t>(divide_up(divide_up(vectors, channels), 128) * 128, 128, kMessageVectors));
    blocks = static_cast<int>(divide_up(vectors, share));
    threads = static_cast<int>(std::min<int64_t>({kPipeThreads, share, divide_up(vectors, 32) * 32}));
  }
};
/// The message of this block: vectors first .. first + count - 1.
struct Message {
  int channel;
  int64_t first;
  int count;
  __device__ Message(int share, int64_t vectors)
      : channel(static_cast<int>(blockIdx.x)), first(static_cast<int64_t>(blockIdx.x) * share) {
    count = vectors - first < share ? static_cast<int>(vectors - first) : share;
  }
};

/// Calls use(i, load(i)) for the vectors of the message that fall to this thread; its loads are in flight together.
template <class Load, class Use>
__device__ inline void for_each_vector(const Message& message, Load load, Use use) {
  static_assert(kMessageVectors == 2 * kPipeThreads);
  for (int i = static_cast<int>(threadIdx.x); i < message.count; i += 2 * static_cast<int>(blockDim.x)) {
    const int next = i + static_cast<int>(blockDim.x);
    const uint4 v = load(i), w = next < message.count ? load(next) : uint4{};
    use(i, v);
    if (next < message.count) use(next, w);
  }
}

/// A launch of `roles` blocks a channel (to send, to receive, ...) for chunks. A step of a channel moves `parts`
/// chunks, one for each of so many owners; small tensors have small chunks, so that all channels have work.
struct ChunkLaunch {
  int blocks;
  int chunk;  ///< elements
  ChunkLaunch(int channels, int roles, int64_t elements, int parts = 1) {
    const int64_t share = divide_up(elements, static_cast<int64_t>(channels) * parts);
    chunk = static_cast<int>(std::clamp<int64_t>(divide_up(share, 512) * 512, 2048, kChunkElements));
    const int64_t steps = divide_up(elements, static_cast<int64_t>(chunk) * parts);
    blocks = roles * static_cast<int>(std::min<int64_t>(channels, steps));
  }
};
/// This block's part in it. Blocks of one role come first, then those of the next: every SM gets some of each.
struct Work {
  int role;
  int channel;
  int64_t first;   ///< element where the first step begins
  int64_t stride;  ///< from step to step
  __device__ Work(int roles, int chunk, int parts = 1) {
    const int channels = static_cast<int>(gridDim.x) / roles;
    role = static_cast<int>(blockIdx.x) / channels;
    channel = static_cast<int>(blockIdx.x) % channels;
    first = static_cast<int64_t>(channel) * chunk * parts;
    stride = static_cast<int64_t>(channels) * chunk * parts;
  }
};
/// Elements of a chunk that begins at `first`: fewer at the tensor's end, none beyond.
__device__ inline int chunk_elements(int64_t first, int chunk, int64_t elements) {
  const int64_t left = elements - first;
  return left >= chunk ? chunk : left > 0 ? static_cast<int>(left) : 0;
}

}  // namespace pkb
