// SPDX-License-Identifier: Apache-2.0
//
// Fences, cache-hinted accesses, timers. Hints mean nothing here, but loads that bypass L1 are the ones candidates poll
// with, so those yield when nothing changed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "hostcuda/device.h"

inline void __threadfence_block() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

namespace pkb::hostcuda::detail {

template <class T>
T polled_load(const T* address) {
  if constexpr (sizeof(T) == 16) {
    const Bytes16 bits = load_16(address);
    T value;
    memcpy(static_cast<void*>(&value), &bits, 16);
    return value;
  } else if constexpr (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
    return load_relaxed_system(address);
  } else {
    return *address;
  }
}

template <class T>
void plain_store(T* address, T value) {
  *address = value;
}

}  // namespace pkb::hostcuda::detail

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldca(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldlu(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return ::pkb::hostcuda::detail::polled_load(address);
}
template <class T>
T __ldcv(const T* address) {
  return ::pkb::hostcuda::detail::polled_load(address);
}
template <class T>
void __stwb(T* address, ::pkb::hostcuda::same<T> value) {
  ::pkb::hostcuda::detail::plain_store(address, value);
}
template <class T>
void __stcg(T* address, ::pkb::hostcuda::same<T> value) {
  ::pkb::hostcuda::detail::plain_store(address, value);
}
template <class T>
void __stcs(T* address, ::pkb::hostcuda::same<T> value) {
  ::pkb::hostcuda::detail::plain_store(address, value);
}
template <class T>
void __stwt(T* address, ::pkb::hostcuda::same<T> value) {
  ::pkb::hostcuda::detail::plain_store(address, value);
}

inline void __nanosleep(unsigned) {
  ::pkb::hostcuda::yield();
}
inline long long clock64() {
  return static_cast<long long>(::pkb::hostcuda::timer_ns());
}

// On Hopper these overlap neighbouring launches of a stream; here launches of a stream follow each other anyway.
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

[[noreturn]] inline void __trap(::pkb::hostcuda::Site site = {__builtin_FILE(), __builtin_LINE()}) {
  ::pkb::hostcuda::fail("__trap()", site);
}
inline void __brkpt() {}
#define __builtin_assume(condition) ((void)0)
