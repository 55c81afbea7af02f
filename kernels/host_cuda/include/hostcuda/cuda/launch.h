// SPDX-License-Identifier: Apache-2.0
//
// What translated kernels and launches call. `k<<<grid, block, shared, stream>>>(a)` becomes `(push_launch(...),
// k(a))`, and the body of `__global__ void k(P a) { ... }` becomes `enter<k>(name, bound, [=]() mutable { ... })`:
// overloading, deduction and conversions of arguments stay the compiler's, and each thread works on its own copy of the
// parameters.
#pragma once

#include <stddef.h>

#include "hostcuda/cuda/driver_types.h"
#include "hostcuda/thread.h"

namespace pkb::hostcuda {

/// The next kernel called on this host thread is launched so.
void push_launch(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr);

struct Kernel {
  const void* function;
  const char* name;
  int max_threads;  ///< of __launch_bounds__, else 1024
};
struct Closure {
  void (*run)(const void* closure);
  void (*destroy)(void* closure);
  void* object;
};
/// Launches with the configuration that was pushed. Takes the closure over; errors go to cudaGetLastError.
void submit_kernel(const Kernel& kernel, Closure closure);

using Invoke = void (*)(void** arguments);
/// Makes a kernel callable by its address.
bool register_kernel(const void* function, Invoke invoke);

namespace detail {

template <auto kFunction>
struct Registered;
template <class... P, void (*kFunction)(P...)>
struct Registered<kFunction> {
  static const bool value;

  static void invoke(void** arguments) {
    // Braces: evaluated from left to right.
    struct Call {
      Call(P... parameters) { kFunction(parameters...); }
    };
    Call{*static_cast<P*>(*arguments++)...};
  }
};
template <class... P, void (*kFunction)(P...)>
const bool Registered<kFunction>::value = register_kernel(reinterpret_cast<const void*>(kFunction),
                                                          &Registered<kFunction>::invoke);

template <class Body>
void run_body(const void* closure) {
  Body body(*static_cast<const Body*>(closure));
  body();
}

}  // namespace detail

/// A parameter's type as it stands in the function's type: without its own qualifiers, which decltype of the name
/// keeps.
template <class T>
struct PlainType {
  using type = T;
};
template <class T>
struct PlainType<T* __restrict__> {
  using type = T*;
};
template <class T>
struct PlainType<const T> : PlainType<T> {};
template <class T>
using Plain = typename PlainType<T>::type;

/// Stands in for the body of a kernel.
template <auto kFunction, class Body>
void enter(const char* name, int max_threads, Body body) {
  static_cast<void>(&detail::Registered<kFunction>::value);
  submit_kernel({reinterpret_cast<const void*>(kFunction), name, max_threads},
                {&detail::run_body<Body>, [](void* object) { delete static_cast<Body*>(object); },
                 new Body(static_cast<Body&&>(body))});
}

namespace detail {

template <class Declaration>
struct SharedSlot {
  static const int value;
};
template <class Declaration>
const int SharedSlot<Declaration>::value = new_shared_slot();

}  // namespace detail

/// The block's memory for one __shared__ declaration.
template <class Declaration>
Declaration& shared() {
  return *static_cast<Declaration*>(
      shared_memory(detail::SharedSlot<Declaration>::value, sizeof(Declaration), alignof(Declaration)));
}

/// As the declared type of `extern __shared__`.
inline void* dynamic_shared() {
  return current_thread->block->dynamic_shared;
}

}  // namespace pkb::hostcuda

// Variables, so that a candidate may have its own of the same name. The scheduler sets them as it switches threads.
#define PKB_HOSTCUDA_BUILTIN(name) __asm__("pkb_hostcuda_" #name) __attribute__((tls_model("initial-exec")))
extern constinit const thread_local uint3 threadIdx PKB_HOSTCUDA_BUILTIN(threadIdx);
extern constinit const thread_local uint3 blockIdx PKB_HOSTCUDA_BUILTIN(blockIdx);
extern constinit const thread_local dim3 blockDim PKB_HOSTCUDA_BUILTIN(blockDim);
extern constinit const thread_local dim3 gridDim PKB_HOSTCUDA_BUILTIN(gridDim);
#undef PKB_HOSTCUDA_BUILTIN
constexpr int warpSize = 32;
