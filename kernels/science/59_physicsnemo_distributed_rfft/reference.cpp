// SPDX-License-Identifier: Apache-2.0
//
// spectrum[b, u, v] = (NY*NX)^-0.5 * sum over y, x of field[b, y, x] * exp(-2 pi i (u*y/NY + v*x/NX)),  v = 0 .. NX/2
// x [B, NY, NX/W] fp32: columns r*NX/W .. of the field; spectrum [B, NY/W, NX/2+1] complex64: rows r*NY/W ..
// Columns are transformed, columns and rows exchanged, rows transformed.
#include <pkb/reference.h>

#include <cmath>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const std::vector<int64_t>& size = in.integers("s").values;
  const int64_t ny = size[0], nx = size[1], ranks = comm.size();

  // On a GPU the transformed axis lies innermost.
  const at::Tensor by_column = at::fft_fft(in["x"], ny, /*dim=*/1);
  const at::Tensor sent = by_column.unflatten(1, {ranks, ny / ranks}).permute({1, 0, 3, 2}).contiguous();
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  const at::Tensor rows = received.permute({1, 3, 0, 2}).flatten(2);
  const at::Tensor full = at::fft_fft(rows, nx, /*dim=*/2);
  return {{"spectrum", full.narrow(2, 0, nx / 2 + 1) * (1 / std::sqrt(static_cast<double>(ny * nx)))}};
}
PKB_REFERENCE(baseline)
