// SPDX-License-Identifier: Apache-2.0
//
// The harness's own kernels, as launches on a stream. They return the launch's error. The pointers' bases may have any
// natural alignment: 16-byte accesses are used where the addresses allow them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device/device.h"
#include "device/draw.h"

namespace pkb::cuda {

/// Members that one barrier kernel can align: its pads travel as kernel parameters.
inline constexpr int kMaximumMembers = 128;
struct BarrierPads {
  void* pad[kMaximumMembers];
};

/// Device memory for one reduction at a time, zeroed when it is made; kernels leave the ticket at zero.
struct ReductionSpace {
  static constexpr int kMaximumBlocks = 1024;
  Device::Comparison* partials;  ///< [kMaximumBlocks]
  unsigned int* ticket;
  Device::Comparison* result;  ///< pinned; a hash writes its 64 bits there
};

cudaError_t draw(void* data, Dtype dtype, int64_t elements, const DrawPlan& plan, cudaStream_t stream);
/// Random bytes.
cudaError_t scramble(void* data, std::size_t bytes, PhiloxKey key, uint64_t draw, cudaStream_t stream);
/// `space.result` holds the hash (as uint64_t) when the stream is done.
cudaError_t hash(const void* data, std::size_t bytes, const ReductionSpace& space, cudaStream_t stream);
/// `space.result` holds the comparison when the stream is done.
cudaError_t compare(const void* got, const void* expected, Dtype dtype, int64_t elements, Device::CompareRule rule,
                    const ReductionSpace& space, cudaStream_t stream);
cudaError_t barrier(const BarrierPads& pads, int members, int self, uint32_t epoch, int64_t timeout_ns,
                    uint32_t* timed_out, cudaStream_t stream);
cudaError_t spin(int64_t nanoseconds, cudaStream_t stream);

}  // namespace pkb::cuda
