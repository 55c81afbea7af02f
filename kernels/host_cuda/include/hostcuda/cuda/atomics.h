// SPDX-License-Identifier: Apache-2.0
//
// CUDA's atomic functions. All are relaxed and sequentially coherent per address at any scope, as CPU atomics are. One
// that changed nothing is a poll, and yields when it repeats.
#pragma once

#include "hostcuda/device.h"

namespace pkb::hostcuda::detail {

template <class T>
T polled(const void* address, T before, bool changed) {
  if (!changed) note_poll(address, to_word(before));
  return before;
}

/// before = *address; *address = next(before), by compare and exchange.
template <class T, class Next>
T atomic_update(T* address, Next next) {
  word<T> before = __atomic_load_n(word_at(address), __ATOMIC_RELAXED);
  word<T> after;
  do {
    after = to_word<T>(next(from_word<T>(before)));
  } while (!__atomic_compare_exchange_n(word_at(address), &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return polled(address, from_word<T>(before), before != after);
}

template <class T>
T atomic_add(T* address, T value) {
  return polled(address, __atomic_fetch_add(address, value, __ATOMIC_RELAXED), value != 0);
}

}  // namespace pkb::hostcuda::detail

// Each function in its three scopes.
#define PKB_HOSTCUDA_ATOMIC(name, T, ...)       \
  inline T name(T* address, T value) {          \
    __VA_ARGS__                                 \
  }                                             \
  inline T name##_block(T* address, T value) {  \
    return name(address, value);                \
  }                                             \
  inline T name##_system(T* address, T value) { \
    return name(address, value);                \
  }
#define PKB_HOSTCUDA_ATOMIC_ADD(T) \
  PKB_HOSTCUDA_ATOMIC(atomicAdd, T, return ::pkb::hostcuda::detail::atomic_add(address, value);)
#define PKB_HOSTCUDA_ATOMIC_SUB(T) \
  PKB_HOSTCUDA_ATOMIC(atomicSub, T, return ::pkb::hostcuda::detail::atomic_add(address, static_cast<T>(0 - value));)
#define PKB_HOSTCUDA_ATOMIC_FLOATING_ADD(T) \
  PKB_HOSTCUDA_ATOMIC(atomicAdd, T,         \
                      return ::pkb::hostcuda::detail::atomic_update(address, [=](T old) { return old + value; });)
#define PKB_HOSTCUDA_ATOMIC_EXCHANGE(T) \
  PKB_HOSTCUDA_ATOMIC(atomicExch, T, return ::pkb::hostcuda::detail::exchange<__ATOMIC_RELAXED>(address, value);)
#define PKB_HOSTCUDA_ATOMIC_ORDER(T)                                                                    \
  PKB_HOSTCUDA_ATOMIC(atomicMin, T, return ::pkb::hostcuda::detail::atomic_update(address, [=](T old) { \
                        return value < old ? value : old;                                               \
                      });)                                                                              \
  PKB_HOSTCUDA_ATOMIC(atomicMax, T, return ::pkb::hostcuda::detail::atomic_update(address, [=](T old) { \
                        return old < value ? value : old;                                               \
                      });)
#define PKB_HOSTCUDA_ATOMIC_BITS(T)                                                                                \
  PKB_HOSTCUDA_ATOMIC(atomicAnd, T,                                                                                \
                      return ::pkb::hostcuda::detail::atomic_update(address, [=](T old) { return old & value; });) \
  PKB_HOSTCUDA_ATOMIC(atomicOr, T,                                                                                 \
                      return ::pkb::hostcuda::detail::atomic_update(address, [=](T old) { return old | value; });) \
  PKB_HOSTCUDA_ATOMIC(atomicXor, T,                                                                                \
                      return ::pkb::hostcuda::detail::atomic_update(address, [=](T old) { return old ^ value; });)
#define PKB_HOSTCUDA_ATOMIC_CAS(T)                                                                  \
  inline T atomicCAS(T* address, T expected, T desired) {                                           \
    return ::pkb::hostcuda::detail::compare_exchange<__ATOMIC_RELAXED>(address, expected, desired); \
  }                                                                                                 \
  inline T atomicCAS_block(T* address, T expected, T desired) {                                     \
    return atomicCAS(address, expected, desired);                                                   \
  }                                                                                                 \
  inline T atomicCAS_system(T* address, T expected, T desired) {                                    \
    return atomicCAS(address, expected, desired);                                                   \
  }

PKB_HOSTCUDA_ATOMIC_ADD(int)
PKB_HOSTCUDA_ATOMIC_ADD(unsigned)
PKB_HOSTCUDA_ATOMIC_ADD(unsigned long long)
PKB_HOSTCUDA_ATOMIC_FLOATING_ADD(float)
PKB_HOSTCUDA_ATOMIC_FLOATING_ADD(double)
PKB_HOSTCUDA_ATOMIC_SUB(int)
PKB_HOSTCUDA_ATOMIC_SUB(unsigned)
PKB_HOSTCUDA_ATOMIC_EXCHANGE(int)
PKB_HOSTCUDA_ATOMIC_EXCHANGE(unsigned)
PKB_HOSTCUDA_ATOMIC_EXCHANGE(unsigned long long)
PKB_HOSTCUDA_ATOMIC_EXCHANGE(float)
PKB_HOSTCUDA_ATOMIC_ORDER(int)
PKB_HOSTCUDA_ATOMIC_ORDER(unsigned)
PKB_HOSTCUDA_ATOMIC_ORDER(long long)
PKB_HOSTCUDA_ATOMIC_ORDER(unsigned long long)
PKB_HOSTCUDA_ATOMIC_BITS(int)
PKB_HOSTCUDA_ATOMIC_BITS(unsigned)
PKB_HOSTCUDA_ATOMIC_BITS(unsigned long long)
PKB_HOSTCUDA_ATOMIC_CAS(int)
PKB_HOSTCUDA_ATOMIC_CAS(unsigned)
PKB_HOSTCUDA_ATOMIC_CAS(unsigned short)
PKB_HOSTCUDA_ATOMIC_CAS(unsigned long long)
PKB_HOSTCUDA_ATOMIC(atomicInc, unsigned, return ::pkb::hostcuda::detail::atomic_update(address, [=](unsigned old) {
                      return old >= value ? 0 : old + 1;
                    });)
PKB_HOSTCUDA_ATOMIC(atomicDec, unsigned, return ::pkb::hostcuda::detail::atomic_update(address, [=](unsigned old) {
                      return old == 0 || old > value ? value : old - 1;
                    });)

/// Two floats, each added atomically by itself.
inline float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
          atomicAdd(&address->w, value.w)};
}

#undef PKB_HOSTCUDA_ATOMIC_ADD
#undef PKB_HOSTCUDA_ATOMIC_SUB
#undef PKB_HOSTCUDA_ATOMIC_FLOATING_ADD
#undef PKB_HOSTCUDA_ATOMIC_EXCHANGE
#undef PKB_HOSTCUDA_ATOMIC_ORDER
#undef PKB_HOSTCUDA_ATOMIC_BITS
#undef PKB_HOSTCUDA_ATOMIC_CAS
