// SPDX-License-Identifier: Apache-2.0
//
// spectrum[b, u, v] = (NY*NX)^-0.5 * sum over y, x of field[b, y, x] * exp(-2 pi i (u*y/NY + v*x/NX)),  v = 0 .. NX/2
// x [B, NY, NX/W] fp32: columns r*NX/W .. of the field; spectrum [B, NY/W, NX/2+1] complex64: rows r*NY/W ..
// Columns are transformed, columns and rows exchanged, rows transformed.
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const std::vector<int64_t>& size = in.integers("s").values;
  const std::vector<int64_t>& dim = in.integers("dim").values;
  const std::string& norm = in.string("norm");
  const int64_t ranks = comm.size();

  const at::Tensor by_column = at::fft_fft(in["x"], size[0], dim[0], norm);
  const int64_t batch = by_column.size(0), own_rows = size[0] / ranks, own_columns = size[1] / ranks;
  const at::Tensor sent = by_column.view({batch, ranks, own_rows, own_columns}).transpose(0, 1).contiguous();
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  const at::Tensor rows = received.permute({1, 2, 0, 3}).reshape({batch, own_rows, size[1]});
  const at::Tensor full = at::fft_fft(rows, size[1], dim[1], norm);
  return {{"spectrum", full.narrow(dim[1], 0, size[1] / 2 + 1).contiguous()}};
}
PKB_REFERENCE(baseline)
