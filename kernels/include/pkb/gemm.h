// SPDX-License-Identifier: Apache-2.0
//
// The matrix product of a candidate, C = A B: row-major, bf16 inputs, fp32 accumulation, one rounding when C is bf16. And
// what follows it when the ranks hold summands of C: their parts travel and are added (second half of this file).
//
//   // pkb-link: cublasLt              (a line of the candidate that the build reads)
//   s.gemm.setup(context);             (in pkb_setup)
//   s.gemm.run(stream, a, b, c);       (in pkb_run; one launch, may be captured)
//
// On CUDA it is cuBLASLt with a workspace of its own; on CPU cores a plain kernel. Any m, n, k >= 1 and any alignment that
// bf16 itself has: odd sizes run slower, not wrong.
#pragma once

#include <stdint.h>

#include <algorithm>
#include <memory>

#include "pkb/arguments.h"
#include "pkb/device.cuh"

#ifndef PKB_HOST_CUDA
#include <cublasLt.h>
#endif

namespace pkb {

/// A row-major matrix in device memory; `stride` counts elements from row to row.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns, stride;

  Matrix(T* where, int64_t row_count, int64_t column_count)
      : data(where), rows(row_count), columns(column_count), stride(column_count) {}
};

#ifndef PKB_HOST_CUDA

inline void check_cublas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(status));
}

class Gemm {
 public:
  void setup(const pkb_context* context) {
    cublasLtHandle_t handle = nullptr;
    check_cublas(cublasLtCreate(&handle), "cublasLtCreate");
    handle_.reset(handle);
    workspace_ = workspace<char>(context, kWorkspaceBytes);
  }

  /// c = a b. C is bf16 or float. Throws when cuBLASLt has no kernel for the shapes.
  template <class C>
  void run(cudaStream_t stream, Matrix<const bf16> a, Matrix<const bf16> b, Matrix<C> c) {
    const Shape shape{c.rows,           c.columns,         a.columns,         a.stride,
                      b.stride,         c.stride,          alignment(a.data), alignment(b.data),
                      alignment(c.data), sizeof(C) == sizeof(float) ? CUDA_R_32F : CUDA_R_16BF};
    if (!(shape == shape_)) plan(shape);
    const float one = 1, zero = 0;
    check_cublas(cublasLtMatmul(handle_.get(), operation_.get(), &one, b.data, layout_b_.get(), a.data, layout_a_.get(), &zero,
                                c.data, layout_c_.get(), c.data, layout_c_.get(), &algorithm_, workspace_, kWorkspaceBytes,
                                stream),
                 "cublasLtMatmul");
  }

 private:
  static constexpr int64_t kWorkspaceBytes = 32 << 20;

  template <auto kDestroy>
  struct Destroy {
    template <class T>
    void operator()(T* object) const {
      kDestroy(object);
    }
  };
  using Handle = std::unique_ptr<cublasLtContext, Destroy<cublasLtDestroy>>;
  using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
  using MatrixLayout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
  using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

  /// What decides the kernel: a call that repeats it repeats the kernel, without asking cuBLAS again.
  struct Shape {
    int64_t m = 0, n = 0, k = 0, stride_a = 0, stride_b = 0, stride_c = 0;
    uint32_t align_a = 0, align_b = 0, align_c = 0;
    cudaDataType_t type_c = CUDA_R_16BF;
    bool operator==(const Shape& o) const {
      return m == o.m && n == o.n && k == o.k && stride_a == o.stride_a && stride_b == o.stride_b &&
             stride_c == o.stride_c && align_a == o.align_a && align_b == o.align_b && align_c == o.align_c &&
             type_c == o.type_c;
    }
  };

  static uint32_t alignment(const void* address) {
    const uintptr_t bits = reinterpret_cast<uintptr_t>(address) | 256;
    return static_cast<uint32_t>(bits & (~bits + 1));
  }

  // cuBLAS counts by columns: a row-major C = A B is C^T = B^T A^T there, the same memory with the operands exchanged.
  void plan(const Shape& s) {
    cublasLtMatmulDesc_t operation = nullptr;
    check_cublas(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    operation_.reset(operation);
    layout_b_ = layout(CUDA_R_16BF, s.n, s.k, s.stride_b);
    layout_a_ = layout(CUDA_R_16BF, s.k, s.m, s.stride_a);
    layout_c_ = layout(s.type_c, s.n, s.m, s.stride_c);

    cublasLtMatmulPreference_t created = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
    const Preference preference(created);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
                   "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes));
    // The pieces of a split k are added in fp32, never in a bf16 C.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, s.align_b);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, s.align_a);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, s.align_c);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, s.align_c);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    check_cublas(cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation, layout_b_.get(), layout_a_.get(), layout_c_.get(),
                                                layout_c_.get(), preference.get(), 1, &best, &found),
                 "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw std::runtime_error("cuBLASLt has no kernel for this matrix product");
    algorithm_ = best.algo;
    shape_ = s;
  }

  static MatrixLayout layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t stride) {
    cublasLtMatrixLayout_t created = nullptr;
    check_cublas(cublasLtMatrixLayoutCreate(&created, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), stride),
                 "cublasLtMatrixLayoutCreate");
    return MatrixLayout(created);
  }

  Handle handle_;
  void* workspace_ = nullptr;
  Shape shape_;
  Operation operation_;
  MatrixLayout layout_a_, layout_b_, layout_c_;
  cublasLtMatmulAlgo_t algorithm_{};
};

#else  // CPU cores

/// A thread makes 16 columns of one row: every row of B is read in strips.
template <class C>
__global__ void gemm_strips(const bf16* a, int64_t stride_a, const bf16* b, int64_t stride_b, C* c, int64_t stride_c,
                            int64_t m, int64_t n, int64_t k) {
  constexpr int kStrip = 16;
  const int64_t strips = (n + kStrip - 1) / kStrip;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * strips) return;
  const int64_t row = index / strips, column = index % strips * kStrip;
  const int width = static_cast<int>(n - column < kStrip ? n - column : kStrip);
  float sum[kStrip] = {};
  for (int64_t i = 0; i < k; ++i) {
    const float factor = __bfloat162float(a[row * stride_a + i]);
    for (int j = 0; j < width; ++j) sum[j] += factor * __bfloat162float(b[i * stride_b + column + j]);
  }
  for (int j = 0; j < width; ++j) c[row * stride_c + column + j] = static_cast<C>(sum[j]);
}

class Gemm {
 public:
  void setup(const pkb_context*) {}

  template <class C>
  void run(cudaStream_t stream, Matrix<const bf16> a, Matrix<const bf16> b, Matrix<C> c) {
    constexpr int kThreads = 64;
    const auto blocks = static_cast<unsigned>(divide_up(c.rows * divide_up(c.columns, 16), kThreads));
    gemm_strips<C><<<blocks, kThreads, 0, stream>>>(a.data, a.stride, b.data, b.stride, c.data, c.stride, c.rows,
                                                    c.columns, a.columns);
    check_launch("gemm_strips");
  }
};

#endif

// --------------------------------------------------------------------------------------------- summands that travel
//
// Every rank holds a partial C and the sum is wanted, by parts: part p for rank p (reduce-scatter, first half of an
// all-reduce) or the whole for everybody. A rank stores each peer's part into its own slot there, then adds the slots that
// the peers filled to its own part, in fp32, in rank order, and rounds once.
//
// A part is cut into tiles; in step s block b carries tile s * gridDim + b, and one flag a (block, source) says how far the
// source has come. Ranks run the same grid.
//
// Slots alternate by the call's parity. A rank that stores for call e + 2 has finished call e + 1, hence has every peer's
// part of e + 1, which the peer sent after it had finished call e: nobody still reads what is overwritten.

constexpr int kMaxSteps = 256;  ///< steps of a call, in the low bits of a flag

struct Parts {
  Peers<bf16> slots;      ///< [2][W][slot_elements] on every rank; the own slot is not used
  Peers<uint32_t> flags;  ///< [blocks][kMaxRanks]
  int64_t slot_elements;  ///< a multiple of 8

  __device__ bf16* slot(int owner, int source, uint32_t epoch) const {
    return slots[owner] + (epoch % 2 * slots.size + source) * slot_elements;
  }
  __device__ uint32_t* flag(int owner, int source) const { return flags[owner] + blockIdx.x * kMaxRanks + source; }
};

/// One block's share of a part in one step: `count` elements from `begin` on (none beyond the end), `begin` a multiple of 8.
struct Tile {
  int64_t begin, count;
};
__device__ inline Tile tile_of(int step, int tile_elements, int64_t part_elements) {
  const int64_t begin = (static_cast<int64_t>(step) * gridDim.x + blockIdx.x) * tile_elements;
  const int64_t left = part_elements - begin;
  return {begin, left < 0 ? 0 : left < tile_elements ? left : tile_elements};
}

/// Steps and grid for parts of so many elements: enough blocks to fill the device, tiles of 32 KB where there is more.
struct TilePlan {
  int blocks, steps, tile_elements;
};
inline TilePlan plan_tiles(int64_t part_elements, int threads, int max_blocks) {
  const int64_t vectors = divide_up(part_elements, 8);
  const int64_t blocks = std::max<int64_t>(1, std::min<int64_t>(max_blocks, divide_up(vectors, threads)));
  const int64_t share = divide_up(vectors, blocks);
  const int64_t tile = std::max(std::min<int64_t>(share, 2048), divide_up(share, kMaxSteps / 2));
  return {static_cast<int>(blocks), static_cast<int>(divide_up(share, tile)), static_cast<int>(8 * tile)};
}

/// Block. Stores the step's tile of every peer's part into its slot there and says so. Peer p's part starts at
/// `partial + p * part_stride`.
__device__ inline void push_tile(const Parts& parts, const bf16* partial, int64_t part_stride, Tile tile, int step,
                                 uint32_t epoch) {
  const Peers<bf16>& slots = parts.slots;
  for (int i = 0; i < slots.size - 1; ++i) {
    const int peer = slots.other(i);
    copy_block(parts.slot(peer, slots.index, epoch) + tile.begin, partial + peer * part_stride + tile.begin, tile.count);
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < slots.size - 1) {
    const int peer = slots.other(static_cast<int>(threadIdx.x));
    signal(parts.flag(peer, slots.index), epoch * kMaxSteps + static_cast<uint32_t>(step));
  }
}

/// Block. Waits for the step's tile from every peer, adds, and hands each vector of the sum on as
/// `store(first element, bf16 x 8, how many are valid)`. `own` is the own part.
template <class Store>
__device__ inline void add_tile(const Parts& parts, const bf16* own, Tile tile, int step, uint32_t epoch, Store store) {
  const Peers<bf16>& slots = parts.slots;
  const int source = static_cast<int>(threadIdx.x);
  if (source < slots.size && source != slots.index) {
    wait(parts.flag(slots.index, source), epoch * kMaxSteps + static_cast<uint32_t>(step));
  }
  __syncthreads();
  const bool aligned = is_aligned(own);
  for (int64_t i = 8 * static_cast<int64_t>(threadIdx.x); i < tile.count; i += 8 * static_cast<int64_t>(blockDim.x)) {
    const int count = elements_in_vector(0, tile.count - i);
    const int64_t at = tile.begin + i;
    Float8 sum{};
    for (int s = 0; s < slots.size; ++s) {
      const bf16* from = (s == slots.index ? own : parts.slot(slots.index, s, epoch)) + at;
      add(sum, s == slots.index && !(aligned && count == 8) ? gather_vector(from, count) : load_vector(from));
    }
    store(at, pack_bf16x8(sum), count);
  }
}

/// Stores `count` elements of a vector at any address.
__device__ inline void store_elements(bf16* address, uint4 vector, int count) {
  if (count == 8 && is_aligned(address)) {
    store_vector(address, vector);
  } else {
    scatter_vector(address, vector, count);
  }
}

}  // namespace pkb
