// SPDX-License-Identifier: Apache-2.0
//
// Small conversions between the catalogue's tensors and LibTorch's.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "catalogue/problem.h"
#include "core/dtype.h"
#include "pkb/reference.h"
#include "reference/reference_side.h"

namespace pkb {

/// One set of drawn inputs.
struct Slot {
  Inputs inputs;                    ///< as the reference sees them
  std::vector<at::Tensor> tensors;  ///< by index into instance.inputs; undefined: absent
};

at::ScalarType scalar_type_of(Dtype dtype);
std::string shape_text(at::IntArrayRef shape);                              ///< "[4, 8]"
std::string describe(const at::Tensor& tensor);                             ///< "BFloat16 [4, 8] on cuda:0"
std::string label(const Instance& instance, const TensorInstance& tensor);  ///< "problem 13 (gemm_allreduce): C"

/// Are these the declared shape's extents? Of a dynamic tensor the number of rows is free, up to its capacity.
bool has_declared_shape(const at::Tensor& tensor, const TensorInstance& declared);

/// An empty tensor where the catalogue wants it, in the layout it wants: on `device`, or in host memory (pinned when
/// the device is a GPU).
at::Tensor allocate(const TensorInstance& tensor, at::Device device);

/// Arguments by name, lists put together: `tensors` are those of `instances`, undefined where absent.
std::map<std::string, Value, std::less<>> by_name(const std::vector<TensorSpec>& declared,
                                                  const std::vector<TensorInstance>& instances,
                                                  const std::vector<at::Tensor>& tensors);

/// A view of a tensor that lies as declared, without gaps; absent when undefined. A present tensor without elements has
/// non-null data.
TensorView view_of(const at::Tensor& tensor, const TensorInstance& declared);

}  // namespace pkb
