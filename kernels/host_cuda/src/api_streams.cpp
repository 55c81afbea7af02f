// SPDX-License-Identifier: Apache-2.0
//
// CUDA's names for streams, events, and the capture this device does not have.
#include "api.h"

using namespace pkb::hostcuda;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) {
    return fail_with(ErrorCode::invalid_value, "cudaStreamCreateWithFlags: null stream or unknown flags");
  }
  *stream = Engine::instance().create_stream(flags == cudaStreamDefault).get();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (Engine::instance().destroy_stream(stream)) return cudaSuccess;
  return fail_with(ErrorCode::invalid_resource_handle, "cudaStreamDestroy: not a stream");
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return on_stream(handle, [](const auto& stream) {
    Engine::instance().synchronize(stream);
    return after_waiting();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return on_stream(
      handle, [](const auto& stream) { return Engine::instance().idle(stream) ? after_waiting() : cudaErrorNotReady; });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  return on_stream(handle, [&](const auto& stream) {
    return on_event(event_handle, [&](Event& event) {
      Engine::instance().wait(stream, event);
      return cudaSuccess;
    });
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* user_data) {
  if (function == nullptr) return fail_with(ErrorCode::invalid_value, "cudaLaunchHostFunc: null function");
  return on_stream(handle, [&](const auto& stream) {
    Engine::instance().enqueue(stream, [=] { function(user_data); });
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t function, void* user_data, unsigned) {
  if (function == nullptr) return fail_with(ErrorCode::invalid_value, "cudaStreamAddCallback: null function");
  return on_stream(handle, [&](const auto& stream) {
    Engine::instance().enqueue(stream, [=] { function(handle, cudaSuccess, user_data); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return fail_with(ErrorCode::invalid_value, "cudaEventCreateWithFlags: null event");
  *event = Engine::instance().create_event((flags & cudaEventDisableTiming) == 0).get();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (Engine::instance().destroy_event(event)) return cudaSuccess;
  return fail_with(ErrorCode::invalid_resource_handle, "cudaEventDestroy: not an event");
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t handle) {
  return on_stream(handle, [&](const auto& stream) {
    return on_event(event_handle, [&](Event& event) {
      Engine::instance().record(event, stream);
      return cudaSuccess;
    });
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return on_event(handle, [](Event& event) {
    Engine::instance().synchronize_event(event);
    return after_waiting();
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return on_event(handle,
                  [](Event& event) { return Engine::instance().reached(event) ? after_waiting() : cudaErrorNotReady; });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start_handle, cudaEvent_t stop_handle) {
  return on_event(start_handle, [&](Event& start) {
    return on_event(stop_handle, [&](Event& stop) {
      if (!start.timed || !stop.timed) {
        return fail_with(ErrorCode::invalid_resource_handle, "cudaEventElapsedTime: an event without timing");
      }
      double microseconds = 0;
      if (!Engine::instance().elapsed(start, stop, microseconds)) return cudaErrorNotReady;
      *milliseconds = static_cast<float>(microseconds / 1e3);
      return cudaSuccess;
    });
  });
}

namespace {

cudaError_t no_graphs() {
  return fail_with(ErrorCode::not_supported, "the host device cannot capture graphs");
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return no_graphs();
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return no_graphs();
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return no_graphs();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
  return no_graphs();
}
cudaError_t cudaGraphDestroy(cudaGraph_t) {
  return no_graphs();
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return no_graphs();
}
