/* SPDX-License-Identifier: Apache-2.0
 *
 * The candidate ABI, plain C. A candidate is one `.cu` file that includes this header and defines three functions:
 *
 *   int  pkb_setup(const pkb_context*, const pkb_arguments*, void** state);
 *   int  pkb_run(void* state, const pkb_arguments*, cudaStream_t stream);
 *   void pkb_teardown(void* state);
 *
 * It is compiled to a shared object (nvcc, or pkb's host compiler for the `host` device) and loaded by a worker
 * process, one worker a rank. Return 0 for success; any other value fails the evaluation with that number in the
 * reason.
 *
 * pkb_setup     Collective: every rank calls it with the same sequence of service calls. Not timed. Tensors carry
 * names, dtypes, shapes and capacities, their data pointers are null. Allocate and exchange everything here. pkb_run
 * Timed. Enqueue the work on `stream` and return without synchronising. Everything in the arguments is authoritative
 * for this call: pointers, shapes (within capacity) and scalars may change from call to call. May be captured into a
 * CUDA graph and replayed: no allocation, no service call, no host read. pkb_teardown  Collective. Release what setup
 * made, except what the services gave: the harness frees that.
 */
#ifndef PKB_CANDIDATE_H
#define PKB_CANDIDATE_H

#include <stdint.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
typedef struct CUstream_st* cudaStream_t;
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PKB_ABI_VERSION 1
#define PKB_MAX_NDIM 8
/* 32-bit words of the signal pad that comes with every symmetric allocation, zero at first. */
#define PKB_SIGNAL_WORDS 16384

typedef enum pkb_dtype {
  PKB_BF16 = 1,
  PKB_FP16 = 2,
  PKB_FP32 = 3,
  PKB_FP64 = 4,
  PKB_FP8_E4M3 = 5,
  PKB_I32 = 6,
  PKB_I64 = 7,
  PKB_U8 = 8,
  PKB_BOOL = 9,
  PKB_COMPLEX64 = 10
} pkb_dtype;

typedef enum pkb_place {
  PKB_PLACE_DEVICE = 0,
  PKB_PLACE_HOST = 1 /* pinned host memory; also readable by the device */
} pkb_place;

/* One tensor. `stride` counts elements. A rank-0 tensor has ndim 0 and one element. Zero-row tensors are legal. */
typedef struct pkb_tensor {
  void* data;    /* null in setup, and in a run when the tensor is absent on this rank */
  int32_t dtype; /* pkb_dtype */
  int32_t ndim;  /* may differ by rank */
  int64_t shape[PKB_MAX_NDIM];
  int64_t stride[PKB_MAX_NDIM];
  int32_t place; /* pkb_place */
  int32_t reserved;
  int64_t capacity; /* elements: the maximum over ranks, cases and draws. Size buffers for this */
  int64_t* rows;    /* dynamic outputs: device address where the candidate writes the number of rows; else null */
  void* const*
      peers; /* with --io symmetric: this tensor's address on every rank of the world (host array); else null */
} pkb_tensor;

/* A named argument: one tensor, or a list of tensors (is_list, also when count is 1 or 0). */
typedef struct pkb_argument {
  const char* name;
  int32_t is_list;
  int32_t count;
  const pkb_tensor* tensors;
} pkb_argument;

typedef enum pkb_scalar_kind {
  PKB_SCALAR_NULL = 0,
  PKB_SCALAR_INTEGER = 1,
  PKB_SCALAR_FLOAT = 2,
  PKB_SCALAR_BOOLEAN = 3, /* in `integer` */
  PKB_SCALAR_STRING = 4,
  PKB_SCALAR_LIST = 5, /* integers; a nested list is flat with a shape */
  PKB_SCALAR_GROUP = 6 /* the name of a group, in `string` */
} pkb_scalar_kind;

typedef struct pkb_scalar {
  const char* name;
  int32_t kind;    /* pkb_scalar_kind */
  int32_t ndim;    /* of a list */
  int64_t integer; /* also set for floats (truncated) */
  double real;     /* also set for integers and booleans */
  const char* string;
  const int64_t* list;
  const int64_t* shape; /* ndim extents of a list */
} pkb_scalar;

typedef struct pkb_arguments {
  uint32_t struct_size;
  int32_t n_inputs;
  int32_t n_outputs;
  int32_t n_params;
  int32_t n_scalars;
  int32_t reserved;
  const pkb_argument* inputs;
  const pkb_argument* outputs; /* an in-place argument stands in both, under one name and with one address */
  const pkb_scalar* params;    /* the problem's parameters, and W and r */
  const pkb_scalar* scalars;
} pkb_arguments;

typedef struct pkb_group {
  const char* name;
  int32_t size;
  int32_t index;          /* this rank's place in members */
  const int32_t* members; /* world ranks in group order */
} pkb_group;

typedef struct pkb_device_facts {
  int32_t is_host; /* 1: the host device (CUDA on CPU cores) */
  int32_t sm_count;
  int32_t cc_major;
  int32_t cc_minor;
  int32_t warp_size;
  int32_t multicast;     /* 1: multicast is available and was asked for */
  int32_t ranks_per_gpu; /* more than 1: ranks take turns on one GPU, spinning waits are slow */
  int32_t reserved;
  int64_t l2_bytes;
  int64_t shared_bytes_per_block; /* opt-in maximum */
  int64_t global_bytes;
} pkb_device_facts;

/* A buffer that every member of a group allocated and that every member can address. Zero at first, 256-byte aligned.
 */
typedef struct pkb_symmetric {
  void* local;
  void* const* peers;            /* [group size] addresses, peers[index] == local. Host array, valid until teardown */
  uint32_t* signal;              /* [PKB_SIGNAL_WORDS] local pad */
  uint32_t* const* peer_signals; /* [group size] */
  void* multicast;               /* multicast address or null */
  int64_t bytes;
} pkb_symmetric;

/* Services are valid during pkb_setup only, and return 0 or an error whose text went to the log. */
typedef struct pkb_context {
  uint32_t struct_size;
  uint32_t abi_version;
  int32_t rank;
  int32_t world;
  int32_t n_groups;
  int32_t reserved;
  const pkb_group* groups; /* groups this rank is in; groups[0] is "world" */
  pkb_device_facts device;

  /* Collective over the group (null: the world): all members ask for the same number of bytes in the same order. */
  int (*symmetric_alloc)(const struct pkb_context*, const char* group, int64_t bytes, pkb_symmetric* out);
  /* Private device memory, 256-byte aligned, not initialised. */
  int (*workspace)(const struct pkb_context*, int64_t bytes, void** out);
  /* Returns when every member of the group has called it; also synchronises this rank's device first. */
  int (*host_barrier)(const struct pkb_context*, const char* group);
  void (*log)(const struct pkb_context*, const char* text);

  void* harness; /* not for candidates */
} pkb_context;

#if defined(__GNUC__)
#define PKB_EXPORT __attribute__((visibility("default")))
#else
#define PKB_EXPORT
#endif

PKB_EXPORT int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state);
PKB_EXPORT int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream);
PKB_EXPORT void pkb_teardown(void* state);

/* What this header adds to a candidate: the ABI it was built for, and the last error of the CUDA runtime it was linked
 * with (several runtimes can live in one process; each sees its own launch errors only). */
#ifdef __CUDACC__
PKB_EXPORT __attribute__((weak)) int pkb_abi_version(void) {
  return PKB_ABI_VERSION;
}
PKB_EXPORT __attribute__((weak)) int pkb_last_error(const char** text) {
  const cudaError_t error = cudaGetLastError();
  *text = cudaGetErrorString(error);
  return static_cast<int>(error);
}
#endif

#ifdef __cplusplus
} /* extern "C" */

/* Look-ups by name, for C++ candidates. They return null when there is no such name. */
#include <string.h>

namespace pkb {

inline const pkb_argument* find_argument(const pkb_argument* arguments, int count, const char* name) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(arguments[i].name, name) == 0) return &arguments[i];
  }
  return nullptr;
}

inline const pkb_scalar* find_scalar(const pkb_scalar* scalars, int count, const char* name) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(scalars[i].name, name) == 0) return &scalars[i];
  }
  return nullptr;
}

}  // namespace pkb
#endif

#endif
