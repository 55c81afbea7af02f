// SPDX-License-Identifier: Apache-2.0
//
// What an `inputs.cpp` may include: inputs that the catalogue's draw expressions cannot say. It is compiled into the
// problem's reference and runs on the trusted side. In the catalogue such a tensor has `draw: custom`, or `draw:
// custom(NAME)`, often in a case; one function makes them all.
//
//   void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out);
//   PKB_INPUTS(draw)
//
// Decisions (which token, which row, redraw or not) must come from the base draws alone, so that all machines agree.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkb/reference.h"

namespace pkb {

/// Which inputs are wanted.
struct DrawRequest {
  int rank = 0;
  int world = 1;
  std::string case_name;                              ///< "default" for the first case
  int64_t draw = 0;                                   ///< index of the draw; every draw differs
  std::map<std::string, double, std::less<>> params;  ///< the problem's parameters, W and r
  std::map<std::string, Scalar, std::less<>> scalars;
  at::Device device = at::kCPU;  ///< where the tensors must be
  /// The inputs that are wanted in this call, with the NAME of their `draw: custom(NAME)`, or "" for `draw: custom`.
  std::map<std::string, std::string, std::less<>> customs;
  bool wants(std::string_view input) const { return customs.find(input) != customs.end(); }
  std::string_view custom(std::string_view input) const { return wants(input) ? customs.find(input)->second : ""; }
  int64_t param(std::string_view name) const { return static_cast<int64_t>(params.at(std::string(name))); }
};

/// Base draws: counter-based (Philox over seed, tensor name, rank, draw, element), hence the same bits on every machine
/// and device, and any rank can make any other rank's. `stream` names an independent sequence; the tensor's name by
/// custom. Replicated data: pass rank = -1.
class Draws {
 public:
  virtual ~Draws() = default;
  virtual at::Tensor uniform(std::string_view stream, int rank, at::IntArrayRef shape, double low,
                             double high) const = 0;  ///< fp32
  virtual at::Tensor normal(std::string_view stream, int rank, at::IntArrayRef shape, double mean,
                            double sigma) const = 0;  ///< fp32
  virtual at::Tensor integers(std::string_view stream, int rank, at::IntArrayRef shape, int64_t low,
                              int64_t high) const = 0;                                     ///< i64, inclusive
  virtual at::Tensor permutation(std::string_view stream, int rank, int64_t n) const = 0;  ///< i64
  /// The same as above for another draw of the same tensor (redraws: pass attempt > 0).
  virtual const Draws& attempt(int64_t attempt) const = 0;
};

/// What `draw` fills: every tensor declared `draw: custom`, in the catalogue's dtype and shape, on request.device.
/// Those that are not wanted in this call may be left out; where the catalogue says `dynamic` the number of rows is
/// free, up to the capacity. Tensors with `place: host` are taken from anywhere.
using DrawnInputs = std::map<std::string, Value, std::less<>>;

using InputsFunction = void (*)(const DrawRequest&, const Draws&, DrawnInputs&);
inline constexpr const char* kInputsSymbol = "pkb_inputs";

}  // namespace pkb

#define PKB_INPUTS(function)                                                           \
  extern "C" __attribute__((visibility("default"))) pkb::InputsFunction pkb_inputs() { \
    return function;                                                                   \
  }
