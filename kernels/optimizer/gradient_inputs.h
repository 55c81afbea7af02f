// SPDX-License-Identifier: Apache-2.0
//
// Lists of gradients for problems that clip them: their sums of squares differ by factors between ranks and tensors.
#pragma once

#include <pkb/inputs.h>

#include <cmath>
#include <string>
#include <vector>

namespace pkb {

/// `count` tensors of M x N; tensor t is scale * 2^-t * normal, its own sequence for each `stream` and t.
inline std::vector<at::Tensor> gradients(const DrawRequest& request, const Draws& draws, const std::string& stream,
                                         int64_t count, double scale) {
  std::vector<at::Tensor> list;
  for (int64_t t = 0; t < count; ++t) {
    const double sigma = std::ldexp(scale, static_cast<int>(-t));
    list.push_back(
        draws.normal(stream + " " + std::to_string(t), request.rank, {request.param("M"), request.param("N")}, 0, sigma)
            .to(at::kBFloat16));
  }
  return list;
}

/// Where the only element is that is not zero: another rank, tensor (of `tensors`), place and sign in each draw.
class OneElement {
 public:
  OneElement(const DrawRequest& request, const Draws& draws, int64_t tensors)
      : here_(pick(draws, "rank", request.world) == request.rank),
        tensor_(pick(draws, "tensor", tensors)),
        place_(pick(draws, "place", request.param("M") * request.param("N"))),
        sign_(pick(draws, "sign", 2) == 0 ? 1 : -1) {}

  /// Zeros, but for the element when it is in one of these tensors, the first of which is number `first`.
  void write(const std::vector<at::Tensor>& list, int64_t first, double magnitude) const {
    for (const at::Tensor& tensor : list) {
      tensor.zero_();
      if (here_ && first == tensor_) tensor.view(-1)[place_].fill_(sign_ * magnitude);
      ++first;
    }
  }

 private:
  static int64_t pick(const Draws& draws, const char* stream, int64_t n) {
    return draws.integers(stream, -1, {1}, 0, n - 1).item<int64_t>();
  }

  bool here_;
  int64_t tensor_, place_;
  double sign_;
};

}  // namespace pkb
