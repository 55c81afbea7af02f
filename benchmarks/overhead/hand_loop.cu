// SPDX-License-Identifier: Apache-2.0
//
// The all-reduce candidate of problem 1, timed by a plain loop without any harness: what `pkb_runner` is compared with.
//
//   mpirun -np W hand_loop candidate.cuda.so M N warmup iterations
//
// Prints microseconds a call, the slowest rank's: as a stream, then as a graph. One GPU a rank; with one GPU W must
// be 1.
#include <dlfcn.h>
#include <mpi.h>
#include <pkb/candidate.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "hand_loop: %s: %s\n", what, cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// What the services need; the context points here.
struct Harness {
  int rank = 0, world = 1;
  std::vector<void*> peers;
  std::vector<uint32_t*> signals;
};

/// One allocation: the buffer, then the signal pad; opened by every peer.
int symmetric_alloc(const pkb_context* context, const char*, int64_t bytes, pkb_symmetric* out) {
  auto& harness = *static_cast<Harness*>(context->harness);
  const int64_t pad_at = (bytes + 255) / 256 * 256;
  const size_t total = (pad_at + PKB_SIGNAL_WORDS * sizeof(uint32_t) + (2 << 20) - 1) >> 21 << 21;
  void* local = nullptr;
  check(cudaMalloc(&local, total), "cudaMalloc");
  check(cudaMemset(local, 0, total), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cudaIpcMemHandle_t mine;
  check(cudaIpcGetMemHandle(&mine, local), "cudaIpcGetMemHandle");
  std::vector<cudaIpcMemHandle_t> handles(harness.world);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, handles.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  for (int peer = 0; peer < harness.world; ++peer) {
    void* address = local;
    if (peer != harness.rank) {
      check(cudaIpcOpenMemHandle(&address, handles[peer], cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
    }
    harness.peers.push_back(address);
    harness.signals.push_back(reinterpret_cast<uint32_t*>(static_cast<char*>(address) + pad_at));
  }
  const size_t first = harness.peers.size() - harness.world;
  *out = {local, &harness.peers[first], harness.signals[first + harness.rank], &harness.signals[first], nullptr, bytes};
  return 0;
}

int workspace(const pkb_context*, int64_t bytes, void** out) {
  return cudaMalloc(out, bytes);
}

int host_barrier(const pkb_context*, const char*) {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return MPI_Barrier(MPI_COMM_WORLD);
}

void log_text(const pkb_context*, const char* text) {
  std::fprintf(stderr, "%s\n", text);
}

pkb_scalar integer(const char* name, int64_t value) {
  pkb_scalar scalar = {};
  scalar.name = name;
  scalar.kind = PKB_SCALAR_INTEGER;
  scalar.integer = value;
  scalar.real = static_cast<double>(value);
  return scalar;
}

/// The arguments of one draw.
struct Call {
  pkb_tensor x = {}, y = {};
  pkb_argument input = {}, output = {};
  pkb_arguments arguments = {};
};

void describe(Call& call, int64_t m, int64_t n, const std::vector<pkb_scalar>& params, void* x, void* y) {
  call.x.dtype = PKB_BF16;
  call.x.ndim = 2;
  call.x.shape[0] = m, call.x.shape[1] = n;
  call.x.stride[0] = n, call.x.stride[1] = 1;
  call.x.capacity = m * n;
  call.y = call.x;
  call.x.data = x, call.y.data = y;
  call.input = {"x", 0, 1, &call.x};
  call.output = {"y", 0, 1, &call.y};
  call.arguments = {
      sizeof(pkb_arguments), 1,      1, static_cast<int32_t>(params.size()), 0, 0, &call.input, &call.output,
      params.data(),         nullptr};
}

template <class Function>
Function symbol(void* module, const char* name) {
  void* found = dlsym(module, name);
  if (!found) {
    std::fprintf(stderr, "hand_loop: no %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return reinterpret_cast<Function>(found);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6) {
    std::fprintf(stderr, "usage: hand_loop candidate.cuda.so M N warmup iterations\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Harness harness;
  MPI_Comm_rank(MPI_COMM_WORLD, &harness.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &harness.world);
  harness.peers.reserve(1024);
  harness.signals.reserve(1024);
  check(cudaSetDevice(harness.rank), "cudaSetDevice");
  const int64_t m = std::atoll(argv[2]), n = std::atoll(argv[3]);
  const int warmup = std::atoi(argv[4]), iterations = std::atoi(argv[5]);

  void* module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!module) {
    std::fprintf(stderr, "hand_loop: %s\n", dlerror());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const auto setup = symbol<decltype(&pkb_setup)>(module, "pkb_setup");
  const auto run = symbol<decltype(&pkb_run)>(module, "pkb_run");

  std::vector<int32_t> members;
  for (int rank = 0; rank < harness.world; ++rank) members.push_back(rank);
  const pkb_group world = {"world", harness.world, harness.rank, members.data()};
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, harness.rank), "cudaGetDeviceProperties");
  pkb_context context = {};
  context.struct_size = sizeof context;
  context.abi_version = PKB_ABI_VERSION;
  context.rank = harness.rank;
  context.world = harness.world;
  context.n_groups = 1;
  context.groups = &world;
  context.device = {0,
                    properties.multiProcessorCount,
                    properties.major,
                    properties.minor,
                    32,
                    0,
                    1,
                    0,
                    properties.l2CacheSize,
                    static_cast<int64_t>(properties.sharedMemPerBlockOptin),
                    static_cast<int64_t>(properties.totalGlobalMem)};
  context.symmetric_alloc = symmetric_alloc;
  context.workspace = workspace;
  context.host_barrier = host_barrier;
  context.log = log_text;
  context.harness = &harness;

  const std::vector<pkb_scalar> params = {integer("M", m), integer("N", n), integer("W", harness.world),
                                          integer("r", harness.rank)};
  const int64_t room = (m * n * 2 + 255) / 256 * 256;
  char* slab = nullptr;
  check(cudaMalloc(&slab, 2 * room * iterations), "cudaMalloc");
  check(cudaMemset(slab, 0x3c, 2 * room * iterations), "cudaMemset");
  std::vector<Call> calls(iterations);
  for (int i = 0; i < iterations; ++i) describe(calls[i], m, n, params, slab + 2 * i * room, slab + (2 * i + 1) * room);

  void* state = nullptr;
  Call without_data;
  describe(without_data, m, n, params, nullptr, nullptr);
  if (setup(&context, &without_data.arguments, &state) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  host_barrier(&context, nullptr);

  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  const auto run_all = [&](int count) {
    for (int i = 0; i < count; ++i) run(state, &calls[i % iterations].arguments, stream);
  };
  const auto capture = [&] {
    cudaGraph_t captured;
    cudaGraphExec_t replay;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    run_all(iterations);
    check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&replay, captured, 0), "cudaGraphInstantiate");
    return replay;
  };
  for (const bool graph : {false, true}) {
    const cudaGraphExec_t replay = graph ? capture() : nullptr;
    host_barrier(&context, nullptr);
    // The timed calls follow the warm-up without a pause.
    run_all(warmup);
    if (graph) check(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
    check(cudaEventRecord(start, stream), "cudaEventRecord");
    if (graph) {
      check(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
    } else {
      run_all(iterations);
    }
    check(cudaEventRecord(stop, stream), "cudaEventRecord");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    double mine = 1e3 * milliseconds / iterations, slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (harness.rank == 0) std::printf("%.4f\n", slowest);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
