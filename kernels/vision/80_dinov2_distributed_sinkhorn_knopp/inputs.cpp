// SPDX-License-Identifier: Apache-2.0
//
// teacher_output = 0.3 * (e + c + d) in [-1.5, 1.5], e ~ N(0,1) an element, c ~ N(0,1) a column, d ~ N(0,1) a column of
// a rank: the sums of prototypes differ by factors, and those of one rank from those of all.
// n_masked: in [1, B], another on each rank and in each draw.
#include <pkb/inputs.h>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = request.param("B"), prototypes = request.param("K");
  at::Tensor scores = draws.normal("teacher_output", request.rank, {rows, prototypes}, 0, 1);
  scores.add_(draws.normal("of all", -1, {prototypes}, 0, 1));
  scores.add_(draws.normal("of rank", request.rank, {prototypes}, 0, 1));
  out["teacher_output"] = scores.mul_(0.3).clamp_(-1.5, 1.5);
  const int64_t masked = 1 + (request.rank + (request.world + 1) * request.draw) % rows;
  out["n_masked"] = at::full({1}, masked, scores.options().dtype(at::kLong));
}
PKB_INPUTS(draw)
