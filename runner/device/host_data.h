// SPDX-License-Identifier: Apache-2.0
//
// The data functions of the host device, in the calling thread. See Device for what they compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.h"
#include "device/draw.h"

namespace pkb::host {

void draw(void* data, Dtype dtype, int64_t elements, const DrawPlan& plan);
void poison(void* data, Dtype dtype, int64_t elements, PhiloxKey key, uint64_t draw);
uint64_t hash(const void* data, std::size_t bytes);
Device::Comparison compare(const void* got, const void* expected, Dtype dtype, int64_t elements,
                           Device::CompareRule rule);

}  // namespace pkb::host
