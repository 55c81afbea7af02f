// SPDX-License-Identifier: Apache-2.0
//
// Columns of one field: N(0,1) + 0.5 + plane waves, W a batch entry, whose peaks in the spectrum are 10 .. 100 high and
// lie one in each rank's rows.
#include <pkb/inputs.h>

#include <cmath>
#include <numbers>

namespace {

/// 2 pi * frequency * place / size [batch, waves, places] in fp64, reduced before it is rounded.
at::Tensor angles(const at::Tensor& frequency, const at::Tensor& places, int64_t size) {
  return (frequency.unsqueeze(-1) * places)
      .remainder_(size)
      .to(at::kDouble)
      .mul_(2 * std::numbers::pi / static_cast<double>(size));
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t batch = request.param("B"), ny = request.param("NY"), nx = request.param("NX"), waves = request.world;
  const int64_t own_columns = nx / request.world, first_column = request.rank * own_columns, own_rows = ny / waves;
  const at::Tensor noise = draws.normal("x", -1, {batch, ny, nx}, 0, 1);
  const auto whole = noise.options().dtype(at::kLong);

  const at::Tensor u = draws.integers("u", -1, {batch, waves}, 0, own_rows - 1) + at::arange(waves, whole) * own_rows;
  const at::Tensor v = draws.integers("v", -1, {batch, waves}, 1, nx / 2 - 1);
  const at::Tensor peak = draws.uniform("peak", -1, {batch, waves, 1}, 10, 100).to(at::kDouble);
  const at::Tensor phase = draws.uniform("phase", -1, {batch, waves, 1}, 0, 2 * std::numbers::pi).to(at::kDouble);
  const at::Tensor amplitude = peak * (2 / std::sqrt(static_cast<double>(ny * nx)));
  const at::Tensor of_row = angles(u, at::arange(ny, whole), ny) + phase;
  const at::Tensor of_column = angles(v, at::arange(first_column, first_column + own_columns, whole), nx);

  // cos(a + b) = cos a cos b - sin a sin b
  const at::Tensor field = at::bmm((amplitude * of_row.cos()).transpose(1, 2), of_column.cos()) -
                           at::bmm((amplitude * of_row.sin()).transpose(1, 2), of_column.sin());
  out["x"] = (noise.narrow(2, first_column, own_columns) + (field + 0.5).to(at::kFloat)).contiguous();
}
PKB_INPUTS(draw)
