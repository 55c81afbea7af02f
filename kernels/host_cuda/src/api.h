// SPDX-License-Identifier: Apache-2.0
//
// Shared by the api_*.cpp files, which implement hostcuda/cuda/api.h on the engine.
#pragma once

#include <memory>
#include <string>

#include "engine.h"
#include "errors.h"
#include "hostcuda/cuda/api.h"

namespace pkb::hostcuda {

inline cudaError_t fail_with(ErrorCode code, std::string detail) {
  return static_cast<cudaError_t>(set_error(code, std::move(detail)));
}

/// Calls `work` with the stream behind a handle.
template <class Work>
cudaError_t on_stream(cudaStream_t handle, Work&& work) {
  const std::shared_ptr<Stream> stream = Engine::instance().find_stream(handle);
  if (stream == nullptr) return fail_with(ErrorCode::invalid_resource_handle, "not a stream, or a destroyed one");
  return work(stream);
}

template <class Work>
cudaError_t on_event(cudaEvent_t handle, Work&& work) {
  const std::shared_ptr<Event> event = Engine::instance().find_event(handle);
  if (event == nullptr) return fail_with(ErrorCode::invalid_resource_handle, "not an event, or a destroyed one");
  return work(*event);
}

/// What a call that waited returns: success, or the failure of a kernel that ran before.
inline cudaError_t after_waiting() {
  const std::string failure = Engine::instance().failure();
  return failure.empty() ? cudaSuccess : fail_with(ErrorCode::launch_failure, failure);
}

}  // namespace pkb::hostcuda
