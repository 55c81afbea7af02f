// SPDX-License-Identifier: Apache-2.0
//
// cuda::atomic_ref and cuda::atomic. Scopes are accepted and mean nothing on a CPU; orders are kept.
#pragma once

#include "hostcuda/device.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
enum class memory_order : int { relaxed, consume, acquire, release, acq_rel, seq_cst };
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_consume = memory_order::consume;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;
}  // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) {
  pkb::hostcuda::fence_system();
}

namespace detail {

template <int kValue>
struct Order {
  static constexpr int kOrder = kValue;
};

/// Calls `operation` with the order as a constant the compiler's builtins take.
template <class Operation>
auto with_order(memory_order order, Operation operation) {
  switch (order) {
    case memory_order::relaxed:
      return operation(Order<__ATOMIC_RELAXED>());
    case memory_order::consume:
    case memory_order::acquire:
      return operation(Order<__ATOMIC_ACQUIRE>());
    case memory_order::release:
      return operation(Order<__ATOMIC_RELEASE>());
    case memory_order::acq_rel:
      return operation(Order<__ATOMIC_ACQ_REL>());
    case memory_order::seq_cst:
      break;
  }
  return operation(Order<__ATOMIC_SEQ_CST>());
}

/// The operations, for a value at an address.
template <class T>
class AtomicOperations {
 public:
  T load(memory_order order = memory_order_seq_cst) const {
    if (order == memory_order::relaxed) return pkb::hostcuda::detail::load<__ATOMIC_RELAXED>(at());
    if (order == memory_order::seq_cst) return pkb::hostcuda::detail::load<__ATOMIC_SEQ_CST>(at());
    return pkb::hostcuda::detail::load<__ATOMIC_ACQUIRE>(at());
  }
  void store(T value, memory_order order = memory_order_seq_cst) const {
    if (order == memory_order::relaxed) return pkb::hostcuda::detail::store<__ATOMIC_RELAXED>(at(), value);
    if (order == memory_order::seq_cst) return pkb::hostcuda::detail::store<__ATOMIC_SEQ_CST>(at(), value);
    pkb::hostcuda::detail::store<__ATOMIC_RELEASE>(at(), value);
  }
  T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return with_order(order, [&](auto o) { return pkb::hostcuda::detail::exchange<o.kOrder>(at(), value); });
  }
  bool compare_exchange_strong(T& expected, T desired, memory_order order = memory_order_seq_cst) const {
    const T found = with_order(
        order, [&](auto o) { return pkb::hostcuda::detail::compare_exchange<o.kOrder>(at(), expected, desired); });
    const bool exchanged = pkb::hostcuda::detail::to_word(found) == pkb::hostcuda::detail::to_word(expected);
    expected = found;
    return exchanged;
  }
  bool compare_exchange_strong(T& expected, T desired, memory_order success, memory_order) const {
    return compare_exchange_strong(expected, desired, success);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order order = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order success, memory_order) const {
    return compare_exchange_strong(expected, desired, success);
  }
  T fetch_add(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return static_cast<T>(old - value); });
  }
  T fetch_and(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return static_cast<T>(old & value); });
  }
  T fetch_or(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return static_cast<T>(old | value); });
  }
  T fetch_xor(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return static_cast<T>(old ^ value); });
  }
  T fetch_min(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return value < old ? value : old; });
  }
  T fetch_max(T value, memory_order order = memory_order_seq_cst) const {
    return update(order, [=](T old) { return old < value ? value : old; });
  }
  void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (pkb::hostcuda::detail::to_word(load(order)) == pkb::hostcuda::detail::to_word(old)) pkb::hostcuda::yield();
  }
  void notify_one() const {}
  void notify_all() const {}
  bool is_lock_free() const { return true; }

  operator T() const { return load(); }
  T operator=(T value) const {
    store(value);
    return value;
  }
  T operator++() const { return static_cast<T>(fetch_add(T(1)) + T(1)); }
  T operator--() const { return static_cast<T>(fetch_sub(T(1)) - T(1)); }
  T operator++(int) const { return fetch_add(T(1)); }
  T operator--(int) const { return fetch_sub(T(1)); }
  T operator+=(T value) const { return static_cast<T>(fetch_add(value) + value); }
  T operator-=(T value) const { return static_cast<T>(fetch_sub(value) - value); }

 protected:
  explicit AtomicOperations(T* address) : address_(address) {}
  AtomicOperations(const AtomicOperations&) = default;

 private:
  T* at() const { return address_; }

  template <class Next>
  T update(memory_order order, Next next) const {
    return with_order(order, [&](auto o) {
      T before =
          pkb::hostcuda::detail::from_word<T>(__atomic_load_n(pkb::hostcuda::detail::word_at(at()), __ATOMIC_RELAXED));
      for (;;) {
        const T found = pkb::hostcuda::detail::compare_exchange<o.kOrder>(at(), before, next(before));
        if (pkb::hostcuda::detail::to_word(found) == pkb::hostcuda::detail::to_word(before)) break;
        before = found;
      }
      if (pkb::hostcuda::detail::to_word(next(before)) == pkb::hostcuda::detail::to_word(before)) {
        pkb::hostcuda::note_poll(at(), pkb::hostcuda::detail::to_word(before));
      }
      return before;
    });
  }

  T* address_;
};

}  // namespace detail

template <class T, thread_scope kScope = thread_scope_system>
class atomic_ref : public detail::AtomicOperations<T> {
 public:
  explicit atomic_ref(T& value) : detail::AtomicOperations<T>(&value) {}
  atomic_ref(const atomic_ref&) = default;
  using detail::AtomicOperations<T>::operator=;
};

/// Holds its value; an object of it has the size of T and may lie in shared or global memory.
template <class T, thread_scope kScope = thread_scope_system>
class atomic {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(memory_order order = memory_order_seq_cst) const { return ref().load(order); }
  void store(T value, memory_order order = memory_order_seq_cst) { ref().store(value, order); }
  T exchange(T value, memory_order order = memory_order_seq_cst) { return ref().exchange(value, order); }
  template <class... Orders>
  bool compare_exchange_strong(T& expected, T desired, Orders... orders) {
    return ref().compare_exchange_strong(expected, desired, orders...);
  }
  template <class... Orders>
  bool compare_exchange_weak(T& expected, T desired, Orders... orders) {
    return ref().compare_exchange_weak(expected, desired, orders...);
  }
  T fetch_add(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_add(value, order); }
  T fetch_sub(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_sub(value, order); }
  T fetch_and(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_and(value, order); }
  T fetch_or(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_or(value, order); }
  T fetch_xor(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_xor(value, order); }
  T fetch_min(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_min(value, order); }
  T fetch_max(T value, memory_order order = memory_order_seq_cst) { return ref().fetch_max(value, order); }
  void wait(T old, memory_order order = memory_order_seq_cst) const { ref().wait(old, order); }
  void notify_one() {}
  void notify_all() {}
  operator T() const { return load(); }
  T operator=(T value) {
    store(value);
    return value;
  }
  T operator++() { return ++ref(); }
  T operator++(int) { return ref()++; }
  T operator--() { return --ref(); }
  T operator--(int) { return ref()--; }
  T operator+=(T value) { return ref() += value; }
  T operator-=(T value) { return ref() -= value; }

 private:
  atomic_ref<T, kScope> ref() const { return atomic_ref<T, kScope>(const_cast<T&>(value_)); }
  T value_;
};

}  // namespace cuda
