// SPDX-License-Identifier: Apache-2.0
//
// One output against what is expected of it, under the problem's tolerance.
#pragma once

#include "catalogue/problem.h"
#include "device/device.h"
#include "reference/reference_side.h"
#include "results/row.h"

namespace pkb {

struct OutputErrors {
  double max_absolute = 0, max_relative = 0;
};

/// `got` lies as `expected` does, where the device can address it. Raises `errors`; fills `detail` when it does not
/// match. Synchronises.
bool output_matches(Device& device, Stream stream, const TensorInstance& output, const Tolerance& tolerance,
                    const TensorView& expected, const void* got, MismatchDetail& detail, OutputErrors& errors);

/// The first wrong element and how many there are.
void describe(const Device::Comparison& comparison, const TensorInstance& tensor, MismatchDetail& detail);

}  // namespace pkb
