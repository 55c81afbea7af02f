// SPDX-License-Identifier: Apache-2.0
//
// Barriers, warp operations, active masks: CUDA's names over thread.h. Defaulted arguments record the caller's place.
#pragma once

#include <string.h>

#include "hostcuda/thread.h"

namespace pkb::hostcuda::detail {

/// The lane a shuffle reads, and whether its segment has one; without, the lane keeps its own value.
inline unsigned shuffle_up_source(unsigned lane, unsigned delta, int width) {
  const unsigned first = lane & ~(static_cast<unsigned>(width) - 1);
  return lane >= first + delta ? lane - delta : lane;
}
inline unsigned shuffle_down_source(unsigned lane, unsigned delta, int width) {
  const unsigned last = lane | (static_cast<unsigned>(width) - 1);
  return delta <= last - lane ? lane + delta : lane;
}
inline unsigned shuffle_xor_source(unsigned lane, int mask, int width) {
  const unsigned last = lane | (static_cast<unsigned>(width) - 1);
  const unsigned source = lane ^ static_cast<unsigned>(mask);
  return source <= last ? source : lane;
}
inline unsigned shuffle_source(unsigned lane, int source, int width) {
  const unsigned segment = static_cast<unsigned>(width) - 1;
  return (lane & ~segment) | (static_cast<unsigned>(source) & segment);
}

/// Values of any size, eight bytes at a time.
template <class T>
T shuffle(unsigned mask, T value, unsigned source, Site site) {
  T result;
  for (size_t at = 0; at < sizeof(T); at += 8) {
    const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const char*>(&value) + at, bytes);
    word = warp_collective(WarpOperation::shuffle, mask, word, source, site);
    memcpy(reinterpret_cast<char*>(static_cast<void*>(&result)) + at, &word, bytes);
  }
  return result;
}

inline unsigned current_lane() {
  return current_thread->lane();
}

template <class T>
uint64_t as_operand(T value) {
  uint64_t word = 0;
  memcpy(&word, &value, sizeof(T));
  return word;
}

inline uint32_t reduce(WarpOperation operation, unsigned mask, uint32_t value, Site site) {
  return static_cast<uint32_t>(warp_collective(operation, mask, value, 0, site));
}

}  // namespace pkb::hostcuda::detail

// The place of the call, by default.
#define PKB_HOSTCUDA_SITE ::pkb::hostcuda::Site site = {__builtin_FILE(), __builtin_LINE()}

inline void __syncthreads(PKB_HOSTCUDA_SITE) {
  ::pkb::hostcuda::block_barrier(::pkb::hostcuda::Vote::none, 0, site);
}
inline int __syncthreads_count(int predicate, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::block_barrier(::pkb::hostcuda::Vote::count, predicate, site);
}
inline int __syncthreads_and(int predicate, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::block_barrier(::pkb::hostcuda::Vote::all, predicate, site);
}
inline int __syncthreads_or(int predicate, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::block_barrier(::pkb::hostcuda::Vote::any, predicate, site);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, PKB_HOSTCUDA_SITE) {
  ::pkb::hostcuda::warp_collective(::pkb::hostcuda::WarpOperation::sync, mask, 0, 0, site);
}
inline unsigned __activemask(PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::active_mask(site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, PKB_HOSTCUDA_SITE) {
  return static_cast<unsigned>(
      ::pkb::hostcuda::warp_collective(::pkb::hostcuda::WarpOperation::ballot, mask, predicate != 0, 0, site));
}
inline int __any_sync(unsigned mask, int predicate, PKB_HOSTCUDA_SITE) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, PKB_HOSTCUDA_SITE) {
  return __ballot_sync(mask, predicate == 0, site) == 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, PKB_HOSTCUDA_SITE) {
  return static_cast<unsigned>(::pkb::hostcuda::warp_collective(::pkb::hostcuda::WarpOperation::match_any, mask,
                                                                ::pkb::hostcuda::detail::as_operand(value), 0, site));
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, PKB_HOSTCUDA_SITE) {
  const auto lanes = static_cast<unsigned>(::pkb::hostcuda::warp_collective(
      ::pkb::hostcuda::WarpOperation::match_all, mask, ::pkb::hostcuda::detail::as_operand(value), 0, site));
  *all = lanes != 0;
  return lanes;
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, PKB_HOSTCUDA_SITE) {
  namespace detail = ::pkb::hostcuda::detail;
  return detail::shuffle(mask, value, detail::shuffle_source(detail::current_lane(), source, width), site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, PKB_HOSTCUDA_SITE) {
  namespace detail = ::pkb::hostcuda::detail;
  return detail::shuffle(mask, value, detail::shuffle_up_source(detail::current_lane(), delta, width), site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, PKB_HOSTCUDA_SITE) {
  namespace detail = ::pkb::hostcuda::detail;
  return detail::shuffle(mask, value, detail::shuffle_down_source(detail::current_lane(), delta, width), site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, PKB_HOSTCUDA_SITE) {
  namespace detail = ::pkb::hostcuda::detail;
  return detail::shuffle(mask, value, detail::shuffle_xor_source(detail::current_lane(), lane_mask, width), site);
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::add, mask, value, site);
}
inline int __reduce_add_sync(unsigned mask, int value, PKB_HOSTCUDA_SITE) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), site));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::minimum_unsigned, mask, value, site);
}
inline int __reduce_min_sync(unsigned mask, int value, PKB_HOSTCUDA_SITE) {
  return static_cast<int>(::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::minimum_signed, mask,
                                                          static_cast<unsigned>(value), site));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::maximum_unsigned, mask, value, site);
}
inline int __reduce_max_sync(unsigned mask, int value, PKB_HOSTCUDA_SITE) {
  return static_cast<int>(::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::maximum_signed, mask,
                                                          static_cast<unsigned>(value), site));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::bit_and, mask, value, site);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::bit_or, mask, value, site);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, PKB_HOSTCUDA_SITE) {
  return ::pkb::hostcuda::detail::reduce(::pkb::hostcuda::WarpOperation::bit_xor, mask, value, site);
}
