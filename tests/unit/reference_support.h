// SPDX-License-Identifier: Apache-2.0
//
// Problems made by hand, for tests of the trusted side.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/problem.h"

namespace pkb::test {

/// A problem and its instance on one rank. Tensors are declared one by one; specs keep their addresses.
class Declared {
 public:
  Declared(int id, std::string name, int world, int rank) {
    problem_.id = id;
    problem_.name = std::move(name);
    instance_.problem = &problem_;
    instance_.size = "smoke";
    instance_.case_name = "default";
    instance_.world = world;
    instance_.rank = rank;
    instance_.params = {{"W", world}, {"r", rank}};
    GroupInstance everybody{.name = "world", .members = {}, .index = rank};
    for (int s = 0; s < world; ++s) everybody.members.push_back(s);
    instance_.groups.push_back(everybody);
  }
  Declared(const Declared&) = delete;
  Declared& operator=(const Declared&) = delete;

  TensorSpec& input(const std::string& name, Dtype dtype, std::vector<int64_t> shape, const std::string& kind,
                    std::vector<double> arguments = {}) {
    instance_.draws[name] = {.kind = kind, .arguments = std::move(arguments), .custom_name = {}};
    return add(instance_.inputs, name, dtype, std::move(shape));
  }
  TensorSpec& output(const std::string& name, Dtype dtype, std::vector<int64_t> shape) {
    return add(instance_.outputs, name, dtype, std::move(shape));
  }
  void in_place(const std::string& name) { problem_.inplace.push_back(name); }

  Instance& instance() { return instance_; }

 private:
  TensorSpec& add(std::vector<TensorInstance>& tensors, const std::string& name, Dtype dtype,
                  std::vector<int64_t> shape) {
    TensorSpec& spec = specs_.emplace_back();
    spec.name = name;
    spec.dtype = dtype;
    TensorInstance& tensor = tensors.emplace_back();
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
    tensor.spec = &spec;
    tensor.capacity = tensor.elements();
    return spec;
  }

  Problem problem_;
  Instance instance_;
  std::deque<TensorSpec> specs_;
};

}  // namespace pkb::test
