// SPDX-License-Identifier: Apache-2.0
//
// Pipes between the ranks of a group, for tensors of any size that no peer can address: the data pass through rings of
// fixed size in symmetric memory.
//
// A *channel* is a pipe from every rank to every other rank, run by one block at either end. Chunks: the sender pushes
// into the ring in the receiver's memory and raises a flag there; the receiver takes the chunk and raises a flag back:
// there is room again. Small messages go as packets, data and tag in one word, with no fence and no flag on the way.
//
// Chunks are counted since setup, at both ends, in device memory. So calls need no barrier between them: a rank may run
// ahead until the ring is full, roots and sizes may change from call to call, and a captured graph counts on. All ranks
// make the same calls and deal their data out to channels in the same way.
//
// Nobody waits for ever: a receiver waits for a sender, and a sender for the receiver of an *older* chunk, in blocks
// that are all resident (make_pipes and the launches see to it) and never the same.
#pragma once

#include <initializer_list>

#include "pkb/arguments.h"
#include "pkb/device.cuh"

namespace pkb {

constexpr int kPipeThreads = 512;
constexpr int kChunkElements = 8192;  ///< bf16 in a chunk: 16 KiB, two vectors a thread
constexpr int kPacketElements = 4;    ///< bf16 in a PacketPair
constexpr int kMessagePackets =
    512;  ///< what a channel sends as packets in one call: 2048 bf16, 4 KiB, one packet a thread
constexpr int kMessageElements = kMessagePackets * kPacketElements;
constexpr int kFlagWords = 32;  ///< a flag has a cache line of its own

/// Slots of one kind, byte offsets into symmetric memory. `freed`, `sent`, `received` are indexed [channel][peer].
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
  Ring chunks;
  Ring packets;
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
    return Ring{layout.add<char>(pairs * depth * slot_bytes),
                layout.add<uint32_t>(pairs * kFlagWords),
                layout.add<uint32_t>(pairs * kFlagWords),
                layout.add<uint32_t>(pairs),
                layout.add<uint32_t>(pairs),
                slot_bytes,
                static_cast<uint32_t>(depth)};
  };
  Pipes pipes{};
  pipes.channels = channels;
  pipes.chunks = ring(kChunkElements * 2, size <= 2 ? 4 : 2);  // rings as deep as all can be and stay in L2
  pipes.packets = ring(kMessagePackets * 16, 2);
  pipes.memory = Symmetric(context, layout.bytes(), group).peers<char>();
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

/// One end of a channel towards a set of peers during one call; what senders and receivers have in common.
class PipeEnd {
 public:
  /// Block. Ends the call: the counts go back to memory.
  __device__ void close() const {
    __syncthreads();
    if (mine()) *count(peer()) += step_;
  }

 protected:
  __device__ PipeEnd(const Pipes& pipes, const Ring& ring, int64_t counts, int channel, uint32_t peers)
      : pipes_(pipes), ring_(ring), counts_(counts), channel_(channel), peers_(peers) {}

  /// Thread p looks after peer p.
  __device__ int peer() const { return static_cast<int>(threadIdx.x); }
  __device__ bool mine() const { return threadIdx.x < kMaxRanks && (peers_ >> threadIdx.x & 1u) != 0; }

  /// The number of this step's chunk, from 0 on.
  __device__ uint32_t number(int peer) const { return *count(peer) + step_; }
  __device__ void* slot(int owner, int source, uint32_t number) const {
    const int64_t index = pair(source) * ring_.depth + (number & (ring_.depth - 1));
    return pipes_.memory[owner] + ring_.slots + index * ring_.slot_bytes;
  }
  __device__ uint32_t* flag(int owner, int64_t flags, int peer) const {
    return reinterpret_cast<uint32_t*>(pipes_.memory[owner] + flags) + pair(peer) * kFlagWords;
  }
  __device__ int64_t pair(int peer) const { return static_cast<int64_t>(channel_) * pipes_.size() + peer; }
  __device__ uint32_t* count(int peer) const {
    return reinterpret_cast<uint32_t*>(pipes_.memory.local() + counts_) + pair(peer);
  }

  /// Block. Sender: until the chunk that was in this slot before has been taken.
  __device__ void await_room() const {
    if (mine()) wait(flag(pipes_.rank(), ring_.freed, peer()), number(peer()) + 1 - ring_.depth);
    __syncthreads();
  }
  /// Block. Receiver: all threads are done with this step's chunks.
  __device__ void return_room() {
    __syncthreads();
    if (mine()) signal(flag(peer(), ring_.freed, pipes_.rank()), number(peer()) + 1);
    ++step_;
  }

  const Pipes& pipes_;
  const Ring& ring_;
  const int64_t counts_;
  const int channel_;
  const uint32_t peers_;
  uint32_t step_ = 0;
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
};

/// Sends a message of packets to every peer of a set.
class PacketSender : public PipeEnd {
 public:
  __device__ PacketSender(const Pipes& pipes, int channel, uint32_t peers)
      : PipeEnd(pipes, pipes.packets, pipes.packets.sent, channel, peers) {}

  /// Block.
  __device__ void wait_for_room() const { await_room(); }
  /// Packet i of the message to a peer, i < kMessagePackets. Tags start from 1; slots hold 0 at first.
  __device__ void send(int peer, int i, uint2 data) const {
    const uint32_t n = number(peer);
    store_packet(static_cast<PacketPair*>(slot(peer, pipes_.rank(), n)) + i, data, n + 1);
  }
  __device__ void finish() { ++step_, close(); }
};

/// Receives a message of packets from every peer of a set.
class PacketReceiver : public PipeEnd {
 public:
  __device__ PacketReceiver(const Pipes& pipes, int channel, uint32_t peers)
      : PipeEnd(pipes, pipes.packets, pipes.packets.received, channel, peers) {}

  __device__ uint2 receive(int peer, int i) const {
    const uint32_t n = number(peer);
    return poll_packet(static_cast<const PacketPair*>(slot(pipes_.rank(), peer, n)) + i, n + 1);
  }
  __device__ void finish() { return_room(), close(); }
};

/// Sends a message of packets to and receives one from every other rank. Nobody waits for room: a rank sends message m
/// + 2, into the slots of m, after it heard message m + 1 from its peer, which was sent after that peer's call m had
/// ended. A state uses this or PacketSender and PacketReceiver, not both.
class PacketExchange : public PipeEnd {
 public:
  __device__ PacketExchange(const Pipes& pipes, int channel)
      : PipeEnd(pipes, pipes.packets, pipes.packets.sent, channel, pipes.others()),
        number_(number(pipes.other(0))) {}  // the same towards all

  __device__ void send(int peer, int i, uint2 data) const {
    store_packet(static_cast<PacketPair*>(slot(peer, pipes_.rank(), number_)) + i, data, number_ + 1);
  }
  __device__ uint2 receive(int peer, int i) const {
    return poll_packet(static_cast<const PacketPair*>(slot(pipes_.rank(), peer, number_)) + i, number_ + 1);
  }
  __device__ void finish() { ++step_, close(); }

 private:
  const uint32_t number_;
};

// ------------------------------------------------------------------------------------- dealing tensors out to blocks

/// Packet i of a tensor of `elements` bf16 at any even address; what is missing at the end reads as zero.
__device__ inline uint2 load_packet_data(const bf16* tensor, int64_t i, int64_t elements) {
  const bf16* from = tensor + kPacketElements * i;
  const int64_t left = elements - kPacketElements * i;
  if (left >= kPacketElements && is_aligned(from, 8)) return *reinterpret_cast<const uint2*>(from);
  const uint4 v = gather_vector(from, left < kPacketElements ? static_cast<int>(left) : kPacketElements);
  return make_uint2(v.x, v.y);
}
__device__ inline void store_packet_data(bf16* tensor, int64_t i, int64_t elements, uint2 data) {
  bf16* to = tensor + kPacketElements * i;
  const int64_t left = elements - kPacketElements * i;
  if (left >= kPacketElements && is_aligned(to, 8)) {
    *reinterpret_cast<uint2*>(to) = data;
  } else {
    const int count = left < kPacketElements ? static_cast<int>(left) : kPacketElements;
    scatter_vector(to, make_uint4(data.x, data.y, 0, 0), count);
  }
}

/// A call by packets: block b sends and receives message b of each tensor of `elements`. Worth it while what a link
/// carries, `copies` of the tensor, is short: packets double the bytes but need no fence and no flag, some 2 us less.
inline bool suits_packets(const Pipes& pipes, int64_t elements, int copies) {
  constexpr int64_t kLimit = 512 << 10;  // bytes of payload over one link
  return elements * 2 * copies <= kLimit && elements <= static_cast<int64_t>(pipes.channels) * kMessageElements;
}
struct PacketLaunch {
  int blocks, threads;
  explicit PacketLaunch(int64_t elements)
      : blocks(static_cast<int>(divide_up(elements, kMessageElements))),
        threads(static_cast<int>(std::min<int64_t>(kPipeThreads, divide_up(elements, 32 * kPacketElements) * 32))) {}
};
/// The packets of this block.
struct Message {
  int channel;
  int64_t first;
  int count;
  __device__ explicit Message(int64_t elements)
      : channel(static_cast<int>(blockIdx.x)), first(static_cast<int64_t>(blockIdx.x) * kMessagePackets) {
    const int64_t left = (elements + kPacketElements - 1) / kPacketElements - first;
    count = left < kMessagePackets ? static_cast<int>(left) : kMessagePackets;
  }
};

/// A call by chunks: `roles` blocks for each channel (to send, to receive, ...), all resident. A step of a channel
/// moves `parts` chunks of the tensor, one for each of so many owners; small tensors have small chunks, so that all
/// channels have work.
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
