// SPDX-License-Identifier: Apache-2.0
//
// The host twin of what pkb/device.cuh does in PTX: loads and stores with an order, fences, packets, the timer.
// System and device scope are the same on a CPU; both names exist so that a candidate's choice stays visible.
// Loads that are polled yield by themselves when the value did not change, so `while (load_acquire_system(p) != e) {}`
// is a fair waiting loop. Every T has 1, 2, 4 or 8 bytes and is trivially copyable.
#pragma once

#include <stdint.h>
#include <string.h>

#include "hostcuda/thread.h"

namespace pkb::hostcuda {

namespace detail {

template <int Bytes>
struct Word;
template <>
struct Word<1> {
  using type = uint8_t;
};
template <>
struct Word<2> {
  using type = uint16_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<8> {
  using type = uint64_t;
};
template <class T>
using word = typename Word<sizeof(T)>::type;

template <class T>
word<T> to_word(T value) {
  word<T> bits;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
T from_word(word<T> bits) {
  T value;
  memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

template <class T>
const word<T>* word_at(const T* address) {
  return reinterpret_cast<const word<T>*>(address);
}
template <class T>
word<T>* word_at(T* address) {
  return reinterpret_cast<word<T>*>(address);
}

template <int Order, class T>
T load(const T* address) {
  const word<T> bits = __atomic_load_n(word_at(address), Order);
  note_poll(address, bits);
  return from_word<T>(bits);
}

template <int Order, class T>
void store(T* address, T value) {
  __atomic_store_n(word_at(address), to_word(value), Order);
}

/// Integers only.
template <int Order, class T>
T fetch_add(T* address, T value) {
  const T before = __atomic_fetch_add(address, value, Order);
  if (value == T(0)) note_poll(address, to_word(before));
  return before;
}

template <int Order, class T>
T exchange(T* address, T value) {
  const word<T> before = __atomic_exchange_n(word_at(address), to_word(value), Order);
  if (before == to_word(value)) note_poll(address, before);
  return from_word<T>(before);
}

/// Returns what was there; the exchange happened if that equals `expected`, bit for bit.
template <int Order, class T>
T compare_exchange(T* address, T expected, T desired) {
  word<T> found = to_word(expected);
  constexpr int kOnFailure = Order == __ATOMIC_RELEASE   ? __ATOMIC_RELAXED
                             : Order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE
                                                         : Order;
  if (!__atomic_compare_exchange_n(word_at(address), &found, to_word(desired), false, Order, kOnFailure)) {
    note_poll(address, found);
  }
  return from_word<T>(found);
}

typedef long long Pair __attribute__((vector_size(16), may_alias));

}  // namespace detail

// The second argument of stores and read-modify-writes is not deduced, so that `store_release_system(p, 1)` works for
// any T.
template <class T>
struct Same {
  using type = T;
};
template <class T>
using same = typename Same<T>::type;

template <class T>
T load_relaxed_system(const T* address) {
  return detail::load<__ATOMIC_RELAXED>(address);
}
template <class T>
T load_acquire_system(const T* address) {
  return detail::load<__ATOMIC_ACQUIRE>(address);
}
template <class T>
T load_relaxed_device(const T* address) {
  return detail::load<__ATOMIC_RELAXED>(address);
}
template <class T>
T load_acquire_device(const T* address) {
  return detail::load<__ATOMIC_ACQUIRE>(address);
}

template <class T>
void store_relaxed_system(T* address, same<T> value) {
  detail::store<__ATOMIC_RELAXED>(address, value);
}
template <class T>
void store_release_system(T* address, same<T> value) {
  detail::store<__ATOMIC_RELEASE>(address, value);
}
template <class T>
void store_relaxed_device(T* address, same<T> value) {
  detail::store<__ATOMIC_RELAXED>(address, value);
}
template <class T>
void store_release_device(T* address, same<T> value) {
  detail::store<__ATOMIC_RELEASE>(address, value);
}

template <class T>
T fetch_add_relaxed_system(T* address, same<T> value) {
  return detail::fetch_add<__ATOMIC_RELAXED>(address, value);
}
template <class T>
T fetch_add_release_system(T* address, same<T> value) {
  return detail::fetch_add<__ATOMIC_RELEASE>(address, value);
}
template <class T>
T fetch_add_acq_rel_system(T* address, same<T> value) {
  return detail::fetch_add<__ATOMIC_ACQ_REL>(address, value);
}
template <class T>
T fetch_add_relaxed_device(T* address, same<T> value) {
  return detail::fetch_add<__ATOMIC_RELAXED>(address, value);
}
template <class T>
T fetch_add_release_device(T* address, same<T> value) {
  return detail::fetch_add<__ATOMIC_RELEASE>(address, value);
}
template <class T>
T fetch_add_acq_rel_device(T* address, same<T> value) {
  return detail::fetch_add<__ATOMIC_ACQ_REL>(address, value);
}

template <class T>
T exchange_acq_rel_system(T* address, same<T> value) {
  return detail::exchange<__ATOMIC_ACQ_REL>(address, value);
}
template <class T>
T exchange_acq_rel_device(T* address, same<T> value) {
  return detail::exchange<__ATOMIC_ACQ_REL>(address, value);
}
template <class T>
T compare_exchange_acq_rel_system(T* address, same<T> expected, same<T> desired) {
  return detail::compare_exchange<__ATOMIC_ACQ_REL>(address, expected, desired);
}
template <class T>
T compare_exchange_acq_rel_device(T* address, same<T> expected, same<T> desired) {
  return detail::compare_exchange<__ATOMIC_ACQ_REL>(address, expected, desired);
}

inline void fence_system() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void fence_device() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/// Data and epoch in one 8-byte access, never torn; no order with other accesses.
inline void store_packet(uint64_t* address, uint64_t packet) {
  detail::store<__ATOMIC_RELAXED>(address, packet);
}
inline uint64_t load_packet(const uint64_t* address) {
  return detail::load<__ATOMIC_RELAXED>(address);
}

/// The same for any 8-byte slot: the data in the lower half, the epoch in the upper.
template <class Slot>
void store_packet(Slot* slot, uint32_t data, uint32_t epoch) {
  static_assert(sizeof(Slot) == 8);
  store_packet(reinterpret_cast<uint64_t*>(slot), static_cast<uint64_t>(epoch) << 32 | data);
}
template <class Slot>
void load_packet(const Slot* slot, uint32_t* data, uint32_t* epoch) {
  static_assert(sizeof(Slot) == 8);
  const uint64_t packet = load_packet(reinterpret_cast<const uint64_t*>(slot));
  *data = static_cast<uint32_t>(packet);
  *epoch = static_cast<uint32_t>(packet >> 32);
}

struct alignas(16) Bytes16 {
  uint64_t low, high;
};

/// 16 bytes in one access the compiler may not split, drop or repeat; 16-byte aligned. x86-64 processors with AVX do
/// not tear it.
inline Bytes16 load_16(const void* address) {
  const detail::Pair pair = *static_cast<const volatile detail::Pair*>(address);
  const Bytes16 value{static_cast<uint64_t>(pair[0]), static_cast<uint64_t>(pair[1])};
  note_poll(address, value.low ^ (value.high * 0x9E3779B97F4A7C15ull));
  return value;
}
inline void store_16(void* address, Bytes16 value) {
  *static_cast<volatile detail::Pair*>(address) =
      detail::Pair{static_cast<long long>(value.low), static_cast<long long>(value.high)};
}

}  // namespace pkb::hostcuda
