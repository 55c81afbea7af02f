// SPDX-License-Identifier: Apache-2.0
//
// logprob[t] = log_softmax(filter(x[t, :]))[target[t]]        x [T, V], columns split over the ranks, bf16
// filter: keep the k largest and all that equal the k-th; of these, from the largest down, while the mass above < top_p
//
// With a small top_k, or no filter at all (`candidates`, one kernel, packets only):
// 1. A block reads the rank's columns of a token. In the first 8192 each thread finds its maximum: the k-th largest of
//    these is a lower bound L of the k-th largest column. Then all columns >= L are listed and ranked. Ties beyond the
//    k-th are counted, not listed.
// 2. The k values, that count, and the target's logit go to the token's owner, rank t / (T/W). Without a filter:
//    maximum and sum of exp.
// 3. A warp of the owner merges the W sorted lists into groups of equal values, cuts them, and tells everybody.
// Else (`whole_rows`): the columns travel to the owner, where a block finds both thresholds by bisection over the 2^16
// bf16 values.
//
// Moves (W - 1)/W T (4 k + 24) bytes out, or 2 (W - 1)/W T V/W. Default: two hops of NVLink.
// Large, W = 2: 263 MB, 67 us of HBM.
#include <memory>

#include "pkb/arguments.h"
#include "pkb/device.cuh"

namespace {

using pkb::bf16;

constexpr int kSample = 32;       // elements a thread looks at for a lower bound
constexpr int kMaxThreads = 256;  // of a block in `candidates`
constexpr int kRowThreads = 512;  // in `whole_rows`
constexpr int kMaxK = 64;         // candidates a rank sends for a token
constexpr int kHeader = 3;        // words of a record before the values, two a word
constexpr int kRecord = kHeader + kMaxK / 2;
constexpr int kList = 1024;  // columns >= L that fit; more are bisected
constexpr uint32_t kAllLanes = 0xffffffffu;
constexpr int kMaxRounds = 256;  // tokens of a block in `whole_rows`: low bits of its flags

// A rank stores nothing of call e + 1 before it has the results of call e from every owner, so all its records and rows
// of e have been read; and an owner stores results of e + 1 only when it has records or rows of e + 1 from every rank,
// which then has finished call e. One set of records and of results is enough.
struct Exchange {
  pkb::Peers<pkb::Packet> records;  // [T/W][W][kRecord] on the owner
  pkb::Peers<pkb::Packet> results;  // [T]
  pkb::Peers<bf16> rows;            // [blocks][2][row_stride] on the owner
  pkb::Peers<uint32_t> flags;       // [blocks][kMaxRanks]
  int64_t row_stride;

  __device__ int me() const { return results.index; }
  __device__ int ranks() const { return results.size; }
};

struct State {
  Exchange exchange;
  pkb::EpochCounter* epoch;
  int64_t max_tokens, max_vocabulary;
  int max_blocks, max_row_blocks;
};

struct Filter {
  int k;        // 0: off
  float top_p;  // 1: off
};

struct Problem {
  const bf16* x;  // [tokens, width]
  const int64_t* target;
  float* logprob;
  int tokens, width;  // width: V/W
  Filter filter;
};

// ----------------------------------------------------------------------------------------------- values and their
// order

__device__ float value_of_bits(uint32_t bits) {
  return __uint_as_float(bits << 16);
}
__device__ uint32_t bits_of(float value) {
  return __float_as_uint(value) >> 16;
}  // of a value that is a bf16

/// bf16 in ascending order as integers, -inf .. +inf.
constexpr uint32_t kLowestKey = 0x7f, kHighestKey = 0xff80;
__device__ uint32_t key_of(float value) {
  const uint32_t bits = bits_of(value);
  return bits & 0x8000u ? 0xffffu - bits : 0x8000u + bits;
}
__device__ float value_of_key(uint32_t key) {
  return value_of_bits(key & 0x8000u ? key - 0x8000u : 0xffffu - key);
}

/// Block. The largest key for which holds(value) is true, where it is true for `low` and false beyond some key.
template <class Holds>
__device__ uint32_t last_key(uint32_t low, Holds holds) {
  uint32_t high = kHighestKey + 1;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (holds(value_of_key(middle)) ? low : high) = middle;
  }
  return low;
}

/// Block. f(vector, index of its first element) for all of a row, each by one thread; -inf fills up the last.
template <class Function>
__device__ void for_each_vector(const bf16* row, int width, Function f) {
  constexpr int kUnroll = 4;
  const int vectors = (width + 7) / 8, threads = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kUnroll * threads) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (first + u * threads < vectors) v[u] = pkb::load_elements(row, first + u * threads, width);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int at = 8 * (first + u * threads);
      if (at < width) f(at + 8 <= width ? v[u] : pkb::first_elements(v[u], width - at), at);
    }
  }
}

/// f(value, index) for the elements of a vector whose first one is `at`.
template <class Function>
__device__ void for_each_of(uint4 vector, int at, Function f) {
  const pkb::Float8 x = pkb::unpack_bf16x8(vector);
#pragma unroll
  for (int i = 0; i < 4; ++i) f(x.v[i].x, at + 2 * i), f(x.v[i].y, at + 2 * i + 1);
}

/// Block. The same for a row, some -inf beyond its end included.
template <class Function>
__device__ void for_each(const bf16* row, int width, Function f) {
  for_each_vector(row, width, [&](uint4 vector, int at) { for_each_of(vector, at, f); });
}

/// The largest element of this thread's vectors.
__device__ float thread_maximum(const bf16* row, int width) {
  float maximum = -INFINITY;
  for_each_vector(row, width, [&](uint4 vector, int) { maximum = fmaxf(maximum, pkb::max_bf16x8(vector)); });
  return maximum;
}

/// Block. How many elements satisfy `holds`, which -inf must not.
template <class Holds>
__device__ int count_if(const bf16* row, int width, Holds holds) {
  int count = 0;
  for_each(row, width, [&](float x, int i) { count += holds(x, i) ? 1 : 0; });
  return pkb::block_sum(count);
}

// ------------------------------------------------------------------------------------------------- the filter's rules

/// How many of `size` entries of mass `each` are kept below a mass of `above`, of `total`; the largest one always is.
__device__ int kept_of(int size, float each, float above, float total, float top_p, bool largest) {
  if (top_p >= 1) return size;
  const float room = top_p * total - above;
  const float fit = room > 0 ? fminf(ceilf(room / each), static_cast<float>(size)) : 0;
  return largest ? max(1, static_cast<int>(fit)) : static_cast<int>(fit);
}

/// Thread p < W stores a token's result to rank p.
__device__ void publish(const Exchange& exchange, int token, float result, int thread, uint32_t epoch) {
  if (thread < exchange.ranks()) pkb::store_packet(exchange.results[thread] + token, __float_as_uint(result), epoch);
}

/// All blocks. Results of all tokens, as they arrive.
__device__ void collect(const Exchange& exchange, const Problem& problem, uint32_t epoch) {
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  for (int token = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); token < problem.tokens; token += threads) {
    problem.logprob[token] = __uint_as_float(pkb::poll_packet(exchange.results.local() + token, epoch));
  }
}

// -------------------------------------------------------------------------------------------------------- candidates

struct Selection {
  float maxima[kMaxThreads];
  float list[kList];
  float sorted[kMaxK];  // descending, -inf where the row has fewer
  float bound;
  int count;
};

/// Block. L: at least k elements of the row are >= L.
__device__ float lower_bound(Selection& s, const bf16* row, int width, int k) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if (width <= kList || k > threads) return -INFINITY;
  const float maximum = thread_maximum(row, min(width, kSample * threads));
  s.maxima[thread] = maximum;
  __syncthreads();
  int rank = 0;
  for (int j = 0; j < threads; ++j) rank += s.maxima[j] > maximum || (s.maxima[j] == maximum && j < thread) ? 1 : 0;
  if (rank == k - 1) s.bound = maximum;
  __syncthreads();
  return s.bound;
}

/// Block. Collects the elements above `bound` (or equal to it) into the list; returns how many there are, also where
/// not all fit. Calls also(value, index) for each.
template <class Also>
__device__ int collect_list(Selection& s, const bf16* row, int width, float bound, bool or_equal, Also also) {
  const auto wanted = [&](float x) { return x > bound || (or_equal && x == bound); };
  __syncthreads();
  if (threadIdx.x == 0) s.count = 0;
  __syncthreads();
  for_each_vector(row, width, [&](uint4 vector, int at) {
    if (!wanted(pkb::max_bf16x8(vector))) return;
    for_each_of(vector, at, [&](float x, int i) {
      if (!wanted(x)) return;
      const int place = atomicAdd(&s.count, 1);
      if (place < kList) s.list[place] = x;
      also(x, i);
    });
  });
  __syncthreads();
  return s.count;
}

/// Block. Sorts the k largest elements of the row into s.sorted and returns how many more equal the k-th. Also counts
/// the elements equal to `value` after `index`, if they are among the largest.
__device__ int select_largest(Selection& s, const bf16* row, int width, int k, float value, int index,
                              int* equal_after) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const float bound = lower_bound(s, row, width, k);
  int after = 0;
  int length = collect_list(s, row, width, bound, true,
                            [&](float x, int i) { after += x == value && i > index && i < width ? 1 : 0; });
  *equal_after = pkb::block_sum(after);

  int beyond = 0;
  const bool fits = length <= kList;
  if (!fits) {  // very many ties, or the largest in few threads' columns
    const float kth = value_of_key(last_key(
        key_of(bound), [&](float v) { return count_if(row, width, [v](float x, int) { return x >= v; }) >= k; }));
    beyond = count_if(row, width, [kth](float x, int) { return x >= kth; }) - k;
    length = collect_list(s, row, width, kth, false, [](float, int) {});
    for (int i = length + thread; i < k; i += threads) s.list[i] = kth;
    length = k;
  }
  for (int i = thread; i < k; i += threads) s.sorted[i] = -INFINITY;
  __syncthreads();
  for (int i = thread; i < length; i += threads) {
    const float x = s.list[i];
    int rank = 0;
    for (int j = 0; j < length; ++j) rank += s.list[j] > x || (s.list[j] == x && j < i) ? 1 : 0;
    if (rank < k) s.sorted[rank] = x + 0.0f;  // -0 becomes 0: equal values have one key
  }
  __syncthreads();
  if (!fits) return beyond;
  for (int i = thread; i < length; i += threads) beyond += s.list[i] >= s.sorted[k - 1] ? 1 : 0;
  return max(0, pkb::block_sum(beyond) - k);
}

/// What a rank says of a token.
struct Record {
  uint32_t words[kRecord];

  __device__ float target() const { return value_of_bits(words[0]); }  // where the target is
  __device__ int equal_after() const { return static_cast<int>(words[1]); }
  __device__ int beyond() const { return static_cast<int>(words[2]); }
  __device__ float value(int i) const { return value_of_bits(words[kHeader + i / 2] >> (i % 2 * 16) & 0xffffu); }
  __device__ float maximum() const { return __uint_as_float(words[1]); }  // without a filter
  __device__ float sum() const { return __uint_as_float(words[2]); }
};

/// Block. Makes this rank's record of a token and stores it to the token's owner.
__device__ void send_record(Selection& s, const Exchange& exchange, const Problem& problem, int token, uint32_t epoch) {
  const int me = exchange.me(), width = problem.width, k = problem.filter.k, thread = static_cast<int>(threadIdx.x);
  const bf16* row = problem.x + static_cast<int64_t>(token) * width;
  const int target = static_cast<int>(problem.target[token]), index = target - me * width;
  const bool here = index >= 0 && index < width;
  const float target_value = here ? __bfloat162float(row[index]) : 0;

  uint32_t second = 0, third = 0;
  if (k > 0) {
    int equal_after = 0;
    third = static_cast<uint32_t>(select_largest(s, row, width, k, target_value, here ? index : width, &equal_after));
    second = static_cast<uint32_t>(equal_after);
  } else {
    const float maximum = pkb::block_max(thread_maximum(row, width));
    float sum = 0;
    for_each(row, width, [&](float x, int) { sum += expf(x - maximum); });
    second = __float_as_uint(maximum);
    third = __float_as_uint(pkb::block_sum(sum));
  }
  const int owned = problem.tokens / exchange.ranks();
  pkb::Packet* record = exchange.records[token / owned] + (token % owned * exchange.ranks() + me) * kRecord;
  for (int i = thread; i < kHeader + (k + 1) / 2; i += static_cast<int>(blockDim.x)) {
    const int at = 2 * (i - kHeader);
    const uint32_t word = i == 0   ? bits_of(target_value)
                          : i == 1 ? second
                          : i == 2 ? third
                                   : bits_of(s.sorted[at]) | (at + 1 < k ? bits_of(s.sorted[at + 1]) << 16 : 0);
    pkb::store_packet(record + i, word, epoch);
  }
  __syncthreads();
}

struct Merge {
  Record records[pkb::kMaxRanks];
  float value[kMaxK];  // groups of equal values, descending
  int size[kMaxK];
};

/// Warp. The result of a token with the target on rank `owner`, all records being there.
__device__ float merge_unfiltered(const Merge& m, int ranks, int owner) {
  const int lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize;
  const float maximum = pkb::warp_max(lane < ranks ? m.records[lane].maximum() : -INFINITY);
  const float sum = pkb::warp_sum(lane < ranks ? m.records[lane].sum() * expf(m.records[lane].maximum() - maximum) : 0);
  return m.records[owner].target() - maximum - logf(sum);
}

__device__ float merge_candidates(Merge& m, int ranks, int owner, Filter filter) {
  const int lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize, k = filter.k;
  const Record& mine = m.records[lane < ranks ? lane : 0];
  const float target = m.records[owner].target();

  // Lane p walks down rank p's list. Entries beyond a list's end equal its last, and count only if that is the k-th of
  // all.
  int groups = 0, taken = 0, position = lane < ranks ? 0 : k, target_after = 0;
  float total = 0, largest = 0;
  while (taken < k) {
    const uint32_t key = __reduce_max_sync(kAllLanes, position < k ? key_of(mine.value(position)) : 0);
    if (key <= kLowestKey) break;
    const float value = value_of_key(key);
    int size = 0;
    while (position < k && mine.value(position) == value) ++size, ++position;
    if (size > 0 && position == k) size += mine.beyond();
    if (value == target && lane > owner) target_after = size;
    size = __reduce_add_sync(kAllLanes, size);
    if (groups == 0) largest = value;
    if (lane == 0) m.value[groups] = value, m.size[groups] = size;
    total += static_cast<float>(size) * expf(value - largest);
    taken += size;
    ++groups;
  }
  __syncwarp();
  // Equal entries are in the order of their vocabulary indices, the largest index first to be kept.
  target_after = __reduce_add_sync(kAllLanes, target_after) + m.records[owner].equal_after();
  float above = 0, mass = 0;
  bool keep_target = false;
  for (int i = 0; i < groups; ++i) {
    const float each = expf(m.value[i] - largest);
    const int kept = kept_of(m.size[i], each, above, total, filter.top_p, i == 0);
    if (m.value[i] == target) keep_target = target_after < kept;
    mass += static_cast<float>(kept) * each;
    above += static_cast<float>(m.size[i]) * each;
  }
  return keep_target ? target - largest - logf(mass) : -INFINITY;
}

__global__ void __launch_bounds__(kMaxThreads)
    candidates(const __grid_constant__ Exchange exchange, const __grid_constant__ Problem problem,
               pkb::EpochCounter* counter) {
  __shared__ Selection selection;
  __shared__ Merge merges[kMaxThreads / pkb::kWarpSize];
  const uint32_t epoch = pkb::read_epoch(counter);
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);

  for (int token = static_cast<int>(blockIdx.x); token < problem.tokens; token += static_cast<int>(gridDim.x)) {
    send_record(selection, exchange, problem, token, epoch);
  }

  const int ranks = exchange.ranks(), owned = problem.tokens / ranks;
  const int warp = static_cast<int>(threadIdx.x) / pkb::kWarpSize,
            lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize;
  const int block_warps = static_cast<int>(blockDim.x) / pkb::kWarpSize;
  // Neighbouring tokens to different blocks: while there are few, each has an SM for itself.
  const int first = static_cast<int>(blockIdx.x) + warp * static_cast<int>(gridDim.x);
  for (int i = first; i < owned; i += block_warps * static_cast<int>(gridDim.x)) {
    Merge& m = merges[warp];
    const int words = kHeader + (problem.filter.k + 1) / 2;
    for (int j = lane; j < ranks * words; j += pkb::kWarpSize) {
      const int source = j / words, word = j % words;
      const pkb::Packet* record = exchange.records.local() + (i * ranks + source) * kRecord;
      m.records[source].words[word] = pkb::poll_packet(record + word, epoch);
    }
    __syncwarp();
    const int token = exchange.me() * owned + i, owner = static_cast<int>(problem.target[token]) / problem.width;
    const float result =
        problem.filter.k > 0 ? merge_candidates(m, ranks, owner, problem.filter) : merge_unfiltered(m, ranks, owner);
    publish(exchange, token, result, lane, epoch);
    __syncwarp();
  }
  collect(exchange, problem, epoch);
}

// -------------------------------------------------------------------------------------------------------- whole rows

/// Block. The result of a token from its whole row.
__device__ float solve_row(const bf16* row, int vocabulary, int target, Filter filter) {
  const auto mass_if = [&](float largest, auto holds) {
    float mass = 0;
    for_each(row, vocabulary, [&](float x, int) { mass += holds(x) ? expf(x - largest) : 0; });
    return pkb::block_sum(mass);
  };
  const float largest = pkb::block_max(thread_maximum(row, vocabulary));

  float kth = -INFINITY;
  if (filter.k > 0) {
    kth = value_of_key(last_key(kLowestKey, [&](float v) {
      return count_if(row, vocabulary, [v](float x, int) { return x >= v; }) >= filter.k;
    }));
  }
  const float total = mass_if(largest, [&](float x) { return x >= kth; });

  // The smallest kept value: the lowest key with less than top_p above it. One below it is the last with too much.
  float lowest = kth;
  if (filter.top_p < 1) {
    const uint32_t too_low = last_key(key_of(kth) - 1, [&](float v) {
      return v < largest && mass_if(largest, [v](float x) { return x > v; }) >= filter.top_p * total;
    });
    lowest = value_of_key(too_low + 1);
  }
  const float above = mass_if(largest, [&](float x) { return x > lowest; }), each = expf(lowest - largest);
  const int size = count_if(row, vocabulary, [&](float x, int) { return x == lowest; });
  const int kept = kept_of(size, each, above, total, filter.top_p, lowest == largest);
  const float value = __bfloat162float(row[target]);
  const int after = count_if(row, vocabulary, [&](float x, int i) { return x == value && i > target; });
  const bool keep = value > lowest || (value == lowest && after < kept);
  return keep ? value - largest - logf(above + static_cast<float>(kept) * each) : -INFINITY;
}

__global__ void __launch_bounds__(kRowThreads)
    whole_rows(const __grid_constant__ Exchange exchange, const __grid_constant__ Problem problem,
               pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);

  const int me = exchange.me(), ranks = exchange.ranks(), owned = problem.tokens / ranks,
            thread = static_cast<int>(threadIdx.x);
  const int64_t flags = static_cast<int64_t>(blockIdx.x) * pkb::kMaxRanks;
  uint32_t round = 0;
  for (int i = static_cast<int>(blockIdx.x); i < owned; i += static_cast<int>(gridDim.x), ++round) {
    // Two buffers: a rank that stores for round n + 2 has seen every peer's flag of n + 1, raised after it had solved
    // round n.
    const int64_t buffer = (static_cast<int64_t>(blockIdx.x) * 2 + round % 2) * exchange.row_stride;
    for (int p = -1; p < ranks - 1; ++p) {
      const int owner = exchange.rows.other(p);
      const bf16* columns = problem.x + static_cast<int64_t>(owner * owned + i) * problem.width;
      pkb::copy_block(exchange.rows[owner] + buffer + me * problem.width, columns, problem.width);
    }
    __syncthreads();
    if (thread < ranks) {
      pkb::signal(exchange.flags[thread] + flags + me, epoch * kMaxRounds + round);
      pkb::wait(exchange.flags.local() + flags + thread, epoch * kMaxRounds + round);
    }
    __syncthreads();
    const int token = me * owned + i;
    const float result = solve_row(exchange.rows.local() + buffer, problem.width * ranks,
                                   static_cast<int>(problem.target[token]), problem.filter);
    publish(exchange, token, result, thread, epoch);
  }
  collect(exchange, problem, epoch);
}

Filter read_filter(const pkb_arguments* arguments, int64_t vocabulary) {
  const auto& top_k = pkb::named_scalar(arguments->scalars, arguments->n_scalars, "top_k");
  const auto& top_p = pkb::named_scalar(arguments->scalars, arguments->n_scalars, "top_p");
  const int64_t k = top_k.kind == PKB_SCALAR_NULL ? 0 : top_k.integer;
  const double p = top_p.kind == PKB_SCALAR_NULL ? 1 : top_p.real;
  return {k > 0 && k < vocabulary ? static_cast<int>(k) : 0, p < 1 ? static_cast<float>(p) : 1.0f};
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return pkb::guarded([&] {
    auto s = std::make_unique<State>();
    const auto x = pkb::input(arguments, "logits");
    const int64_t ranks = context->world;
    s->max_tokens = pkb::output(arguments, "logprob").capacity();
    s->max_vocabulary = x.shape(x.rank() - 1) * ranks;
    s->max_blocks = pkb::co_resident_blocks(context, candidates, kMaxThreads);
    const int64_t owned = pkb::divide_up(s->max_tokens, ranks);
    const int64_t resident =
        std::min(context->device.sm_count, pkb::co_resident_blocks(context, whole_rows, kRowThreads));
    s->max_row_blocks = static_cast<int>(std::min(resident, owned));
    s->epoch = pkb::zeroed_workspace<pkb::EpochCounter>(context, 1);

    auto& e = s->exchange;
    e.row_stride = 8 * pkb::divide_up(s->max_vocabulary, 8);
    pkb::Layout layout;
    const int64_t records = layout.add<pkb::Packet>(owned * ranks * kRecord);
    const int64_t results = layout.add<pkb::Packet>(s->max_tokens);
    const int64_t rows = layout.add<bf16>(s->max_row_blocks * 2 * e.row_stride);
    const int64_t flags = layout.add<uint32_t>(s->max_row_blocks * pkb::kMaxRanks);
    const pkb::Symmetric memory(context, layout.bytes());
    e.records = memory.peers<pkb::Packet>(records);
    e.results = memory.peers<pkb::Packet>(results);
    e.rows = memory.peers<bf16>(rows);
    e.flags = memory.peers<uint32_t>(flags);
    *state = s.release();
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& s = *static_cast<State*>(state);
    const auto x = pkb::input(arguments, "logits"), logprob = pkb::output(arguments, "logprob");
    const int64_t width = x.shape(x.rank() - 1), vocabulary = width * s.exchange.results.size,
                  tokens = logprob.elements();
    if (tokens > s.max_tokens || vocabulary > s.max_vocabulary)
      throw std::runtime_error("more tokens or columns than setup saw");
    const Problem problem{x.data<const bf16>(),    pkb::input(arguments, "target").data<const int64_t>(),
                          logprob.data<float>(),   static_cast<int>(tokens),
                          static_cast<int>(width), read_filter(arguments, vocabulary)};
    const Filter& filter = problem.filter;
    if (filter.k > 0 ? filter.k <= kMaxK : filter.top_p == 1) {
      const auto threads = static_cast<unsigned>(std::clamp<int64_t>(pkb::divide_up(width, 32) * 32, 64, kMaxThreads));
      const auto blocks = static_cast<unsigned>(std::min<int64_t>(s.max_blocks, tokens));
      candidates<<<blocks, threads, 0, stream>>>(s.exchange, problem, s.epoch);
      pkb::check_launch("candidates");
    } else {
      const int64_t owned = tokens / s.exchange.results.size;
      const auto blocks = static_cast<unsigned>(std::min<int64_t>(s.max_row_blocks, owned));
      if (pkb::divide_up(owned, blocks) > kMaxRounds)
        throw std::runtime_error("too many tokens for top_p without a small top_k");
      const auto threads =
          static_cast<unsigned>(std::clamp<int64_t>(pkb::divide_up(vocabulary, 8 * 32) * 32, 64, kRowThreads));
      whole_rows<<<blocks, threads, 0, stream>>>(s.exchange, problem, s.epoch);
      pkb::check_launch("whole_rows");
    }
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
