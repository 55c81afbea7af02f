// SPDX-License-Identifier: Apache-2.0
//
// What the harness uses of the host device's runtime: streams, events and ordered work, without CUDA's names. The CUDA
// names that candidates use (cudaMalloc, cudaStream_t, ...) are inline functions over the same runtime, so that a
// process may hold the real CUDA runtime too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace pkb::hostcuda {

struct Facts {
  int sm_count = 4;  ///< small, so that grids stay small
  int cc_major = 9, cc_minor = 0;
  int warp_size = 32;
  int64_t l2_bytes = 1 << 20;
  int64_t shared_bytes_per_block = 227 << 10;
};
Facts facts();

// Handles are what candidates see as cudaStream_t and cudaEvent_t.
void* stream_create();
void stream_destroy(void* stream);
void stream_synchronize(void* stream);
void device_synchronize();
void* event_create();
void event_destroy(void* event);
void event_record(void* event, void* stream);
void event_synchronize(void* event);
double event_elapsed_us(void* start, void* stop);  ///< both done
/// Runs `work` in stream order, on a runtime thread.
void enqueue(void* stream, std::function<void()> work);
void copy_async(void* destination, const void* source, std::size_t bytes, void* stream);
void fill_async(void* destination, int value, std::size_t bytes, void* stream);
/// Takes the last error's text; empty when there is none.
std::string take_error();

}  // namespace pkb::hostcuda
