// SPDX-License-Identifier: Apache-2.0
//
// The matrix product of a candidate, C = A B: row-major, bf16 inputs, fp32 accumulation, one rounding when C is bf16.
// And what follows it when the ranks hold summands of C: their parts travel and are added (second half of this file).
//
//   // pkb-link: cublasLt              (a line of the candidate that the build reads)
//   s.gemm.setup(context);             (in pkb_setup)
//   s.gemm.run(stream, a, b, c);       (in pkb_run; one launch, may be captured)
//
// On CUDA it is cuBLASLt with a workspace of its own; on CPU cores a plain kernel. Any m, n, k >= 1 and any alignment
// that bf16 itself has: odd sizes run slower, not wrong.
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
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusString(status));
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
    const Shape shape{c.rows,
                      c.columns,
                      a.columns,
                      a.stride,
                      b.stride,
                      c.stride,
                      alignment(a.data),
                      alignment(b.data),
                      alignment(c.data),
                      sizeof(C) == sizeof(float) ? CUDA_R_32F : CUDA_R_16BF};
    if (!(shape == shape_)) plan(shape);
    const float one = 1, zero = 0;
    check_cublas(cublasLtMatmul(handle_.get(), operation_.get(), &one, b.data, layout_b_.get(), a.data, layout_a_.get(),
                                &zero, c.data, layout_c_.get(), c.data, layout_c_.get(), &algorithm_, workspace_,
                                kWorkspaceBytes, stream),
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
    bool operator==(const Shape&) const = default;
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
    check_cublas(cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation, layout_b_.get(), layout_a_.get(),
                                                layout_c_.get(), layout_c_.get(), preference.get(), 1, &best, &found),
                 "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw std::runtime_error("cuBLASLt has no kernel for this matrix product");
    algorithm_ = best.algo;
    shape_ = s;
  }

  static MatrixLayout layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t stride) {
    cublasLtMatrixLayout_t created = nullptr;
    check_cublas(
        cublasLtMatrixLayoutCreate(&created, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), stride),
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
// Every rank holds a partial C and the sum is wanted by parts: part p for rank p (a reduce-scatter, or the first half
// of an all-reduce), or the whole for everybody. A rank stores each peer's part into its own slot there, then adds the
// slots that the peers filled to its own part, in fp32, in rank order, and rounds once.
//
// A part is cut into tiles: in step s block b carries tile s * gridDim + b, and one flag a (block, source) says how far
// the source has come. All ranks run the same plan.
//
// Slots alternate by the call's parity. A rank that stores for call e + 2 has finished call e + 1, hence has every
// peer's part of e + 1, which the peer sent after it had finished call e: nobody still reads what is overwritten.

constexpr int kMaxSteps = 256;  ///< a flag holds epoch * kMaxSteps + step

/// Where the parts that come from elsewhere wait.
struct Slots {
  Peers<bf16> memory;     ///< [2][W - 1][capacity] on every rank
  Peers<uint32_t> flags;  ///< [blocks][kMaxRanks]
  int64_t capacity;       ///< elements of a slot, a multiple of 8

  /// Collective, setup only. For parts of up to `elements` and grids of up to `blocks`.
  static Slots allocate(const pkb_context* context, int64_t elements, int blocks) {
    const int64_t capacity = 8 * divide_up(elements, 8);
    Layout layout;
    const int64_t memory = layout.add<bf16>(2 * (context->world - 1) * capacity);
    const int64_t flags = layout.add<uint32_t>(static_cast<int64_t>(blocks) * kMaxRanks);
    const Symmetric symmetric(context, layout.bytes());
    return {symmetric.peers<bf16>(memory), symmetric.peers<uint32_t>(flags), capacity};
  }

  __device__ int me() const { return memory.index; }
  __device__ int world() const { return memory.size; }
  /// Where `source` stores what `owner` is to read.
  __device__ bf16* slot(int owner, int source, uint32_t epoch) const {
    const int64_t set = static_cast<int64_t>(epoch % 2) * (memory.size - 1);
    return memory[owner] + (set + source - (source > owner ? 1 : 0)) * capacity;
  }
  __device__ uint32_t* flag(int owner, int source) const { return flags[owner] + blockIdx.x * kMaxRanks + source; }
};

/// Elements [begin, begin + count) of a part; `begin` is a multiple of 8, `count` may be 0.
struct Tile {
  int64_t begin;
  int count;
};

/// How C is cut: part p holds elements p * stride .. p * stride + length - 1, as far as there are any. Stride 0: all of
/// C.
struct Plan {
  int64_t elements, length, stride;
  int blocks, steps, tile;

  /// Enough blocks to fill the device, tiles of at most 32 KB unless there would be too many steps.
  Plan(int64_t all, int64_t part_length, int64_t part_stride, int threads, int max_blocks)
      : elements(all), length(part_length), stride(part_stride) {
    const int64_t vectors = divide_up(length, 8);
    const int64_t grid = std::clamp<int64_t>(divide_up(vectors, threads), 1, max_blocks);
    const int64_t share = divide_up(vectors, grid);
    const int64_t step = std::max(std::min<int64_t>(share, 2048), divide_up(share, kMaxSteps / 2));
    blocks = static_cast<int>(grid);
    steps = static_cast<int>(divide_up(share, step));
    tile = static_cast<int>(8 * step);
  }

  /// This block's tile of part `rank` in a step.
  __device__ Tile tile_of(int rank, int step) const {
    const int64_t left_of_all = elements - rank * stride, here = left_of_all < length ? left_of_all : length;
    const int64_t begin = (static_cast<int64_t>(step) * gridDim.x + blockIdx.x) * tile, left = here - begin;
    return {begin, left < 0 ? 0 : left < tile ? static_cast<int>(left) : tile};
  }
};

/// Block. Tells every peer that what this block stored into its slots for this step is there.
__device__ inline void announce(const Slots& slots, int step, uint32_t epoch) {
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < slots.world() - 1) {
    const int peer = slots.memory.other(static_cast<int>(threadIdx.x));
    signal(slots.flag(peer, slots.me()), epoch * kMaxSteps + static_cast<uint32_t>(step));
  }
}

/// Block. Returns when every peer has announced this step.
__device__ inline void await_peers(const Slots& slots, int step, uint32_t epoch) {
  const int source = static_cast<int>(threadIdx.x);
  if (source < slots.world() && source != slots.me()) {
    wait(slots.flag(slots.me(), source), epoch * kMaxSteps + static_cast<uint32_t>(step));
  }
  __syncthreads();
}

/// Block. Stores the step's tile of every peer's part of `partial` into its slot there.
__device__ inline void push_parts(const Slots& slots, const bf16* partial, const Plan& plan, int step, uint32_t epoch) {
  for (int i = 0; i < slots.world() - 1; ++i) {
    const int peer = slots.memory.other(i);
    const Tile tile = plan.tile_of(peer, step);
    copy_block(slots.slot(peer, slots.me(), epoch) + tile.begin, partial + peer * plan.stride + tile.begin, tile.count);
  }
  announce(slots, step, epoch);
}

/// Block. Adds what the peers stored for this step to the own part; `store(tile, i, v)` gets vector i of the sum.
template <class Store>
__device__ inline void add_parts(const Slots& slots, const bf16* partial, const Plan& plan, int step, uint32_t epoch,
                                 Store store) {
  await_peers(slots, step, epoch);
  const int me = slots.me();
  const Tile tile = plan.tile_of(me, step);
  const auto from = [&](int source) {
    return (source == me ? partial + me * plan.stride : slots.slot(me, source, epoch)) + tile.begin;
  };
  sum_block(tile.count, slots.world(), from, [&](int i, uint4 v) { store(tile, i, v); });
}

}  // namespace pkb
