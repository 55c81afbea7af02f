// SPDX-License-Identifier: Apache-2.0
//
// Trick 18: captures its first call as a graph and replays that for every call.
// status: mismatch
// devices: cuda
// caught by: the graph goes on working on the first draw; the outputs of the others stay poisoned
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

static cudaGraphExec_t graph;

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (graph == nullptr) {
    cudaGraph_t captured;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    honest::run(state, arguments, stream);
    cudaStreamEndCapture(stream, &captured);
    cudaGraphInstantiate(&graph, captured, 0);
  }
  return cudaGraphLaunch(graph, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
