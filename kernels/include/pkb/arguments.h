// SPDX-License-Identifier: Apache-2.0
//
// The host side of a candidate: typed access to arguments, memory from the harness's services, launches that fit the
// device. Everything here throws std::runtime_error with a sentence; wrap the three ABI functions in `guarded`.
//
//   extern "C" int pkb_run(void* state, const pkb_arguments* args, cudaStream_t stream) {
//     return pkb::guarded([&] { ... });
//   }
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include "pkb/candidate.h"
#include "pkb/device.cuh"

namespace pkb {

/// Runs `body`; returns 0, or 1 after writing the exception's text to stderr, which the harness keeps as the
/// candidate's log.
template <class Body>
int guarded(Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

/// After `kernel<<<...>>>(...)`: a bad launch configuration shows here.
inline void check_launch(const char* kernel) {
  check(cudaPeekAtLastError(), kernel);
}

// ------------------------------------------------------------------------------------------------------- arguments

/// Bytes of one element of a pkb_dtype.
inline int64_t element_bytes(int32_t dtype) {
  switch (dtype) {
    case PKB_FP8_E4M3:
    case PKB_U8:
    case PKB_BOOL:
      return 1;
    case PKB_BF16:
    case PKB_FP16:
      return 2;
    case PKB_FP32:
    case PKB_I32:
      return 4;
    case PKB_FP64:
    case PKB_I64:
    case PKB_COMPLEX64:
      return 8;
    default:
      throw std::runtime_error("unknown dtype " + std::to_string(dtype));
  }
}

/// A named tensor of this call. In setup and where it is absent `data` is null; shape and capacity still hold.
class Tensor {
 public:
  explicit Tensor(const pkb_tensor* raw) : raw_(raw) {}

  template <class T = void>
  T* data() const {
    return static_cast<T*>(raw_->data);
  }
  bool present() const { return raw_->data != nullptr; }
  int rank() const { return raw_->ndim; }
  int64_t shape(int axis) const { return raw_->shape[axis]; }
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < raw_->ndim; ++i) n *= raw_->shape[i];
    return n;
  }
  int64_t bytes() const { return elements() * element_bytes(raw_->dtype); }
  int64_t capacity() const { return raw_->capacity; }  ///< elements
  const pkb_tensor& raw() const { return *raw_; }

 private:
  const pkb_tensor* raw_;
};

inline Tensor single_tensor(const pkb_argument* arguments, int count, const char* name) {
  const pkb_argument* argument = find_argument(arguments, count, name);
  if (argument == nullptr) throw std::runtime_error(std::string("there is no argument ") + name);
  if (argument->is_list) throw std::runtime_error(std::string("argument ") + name + " is a list");
  return Tensor(argument->tensors);
}
inline Tensor input(const pkb_arguments* arguments, const char* name) {
  return single_tensor(arguments->inputs, arguments->n_inputs, name);
}
inline Tensor output(const pkb_arguments* arguments, const char* name) {
  return single_tensor(arguments->outputs, arguments->n_outputs, name);
}

inline const pkb_scalar& named_scalar(const pkb_scalar* scalars, int count, const char* name) {
  const pkb_scalar* scalar = find_scalar(scalars, count, name);
  if (scalar == nullptr) throw std::runtime_error(std::string("there is no scalar ") + name);
  return *scalar;
}
inline int64_t scalar_int(const pkb_arguments* arguments, const char* name) {
  return named_scalar(arguments->scalars, arguments->n_scalars, name).integer;
}
inline double scalar_real(const pkb_arguments* arguments, const char* name) {
  return named_scalar(arguments->scalars, arguments->n_scalars, name).real;
}
/// A parameter of the problem, or W, or r.
inline int64_t param_int(const pkb_arguments* arguments, const char* name) {
  return named_scalar(arguments->params, arguments->n_params, name).integer;
}

// ---------------------------------------------------------------------------------------------------------- memory

/// Places of several arrays in one allocation, each 256-byte aligned.
class Layout {
 public:
  template <class T>
  int64_t add(int64_t count) {
    const int64_t offset = bytes_;
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + 255) / 256 * 256;
    return offset;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

/// The group of this name (null: the world).
inline const pkb_group& find_group(const pkb_context* context, const char* name) {
  for (int i = 0; i < context->n_groups; ++i) {
    if (name == nullptr || strcmp(context->groups[i].name, name) == 0) return context->groups[i];
  }
  throw std::runtime_error(std::string("this rank is in no group ") + (name == nullptr ? "world" : name));
}

/// Symmetric memory of a group (null: the world), zero at first: every rank's addresses, and typed views into it.
class Symmetric {
 public:
  Symmetric() = default;
  /// Collective over the group; setup only.
  Symmetric(const pkb_context* context, int64_t bytes, const char* group = nullptr)
      : size_(find_group(context, group).size), index_(find_group(context, group).index) {
    if (size_ > kMaxRanks) throw std::runtime_error("the toolkit holds at most 8 ranks a group");
    if (context->symmetric_alloc(context, group, bytes, &raw_) != 0) {
      throw std::runtime_error("could not allocate " + std::to_string(bytes) + " bytes of symmetric memory");
    }
  }

  /// The array at `offset` (from Layout) on every rank.
  template <class T>
  Peers<T> peers(int64_t offset = 0) const {
    Peers<T> result{{}, size_, index_};
    for (int i = 0; i < size_; ++i)
      result.address[i] = reinterpret_cast<T*>(static_cast<char*>(raw_.peers[i]) + offset);
    return result;
  }
  template <class T>
  T* local(int64_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(raw_.local) + offset);
  }
  const pkb_symmetric& raw() const { return raw_; }

 private:
  pkb_symmetric raw_{};
  int size_ = 0;
  int index_ = 0;
};

/// Private device memory, not initialised; setup only.
template <class T>
T* workspace(const pkb_context* context, int64_t count) {
  void* memory = nullptr;
  if (context->workspace(context, count * static_cast<int64_t>(sizeof(T)), &memory) != 0) {
    throw std::runtime_error("could not allocate a workspace of " + std::to_string(count) + " elements");
  }
  return static_cast<T*>(memory);
}

/// The same, zero at first: counters, flags, barriers.
template <class T>
T* zeroed_workspace(const pkb_context* context, int64_t count) {
  T* memory = workspace<T>(context, count);
  check(cudaMemset(memory, 0, static_cast<size_t>(count) * sizeof(T)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return memory;
}

// -------------------------------------------------------------------------------------------------------- launches

/// How many blocks of this kernel the device runs at once: the largest grid whose blocks may wait for each other.
inline int co_resident_blocks(const pkb_context* context, const void* kernel, int threads, int64_t shared_bytes = 0) {
  int per_sm = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, static_cast<size_t>(shared_bytes)),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (per_sm < 1) throw std::runtime_error("a block of " + std::to_string(threads) + " threads does not fit on an SM");
  return per_sm * context->device.sm_count;
}
template <class... Parameters>
int co_resident_blocks(const pkb_context* context, void (*kernel)(Parameters...), int threads,
                       int64_t shared_bytes = 0) {
  return co_resident_blocks(context, reinterpret_cast<const void*>(kernel), threads, shared_bytes);
}

inline int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace pkb
