// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = (NY*NX)^-0.5 * Re(sum over u of exp(2 pi i u*m/NY) * sum over v of c[v] * X[u, v] * exp(2 pi i v*n/NX))
// X: the half spectrum, joined over ranks along u; v = 0 .. NX/2 with c[0] = c[NX/2] = 1 and c[v] = 2 for their mirror
// images otherwise.   x [B, C, NY/W, NX/2+1] complex64: rows r*NY/W .. of X; y [B, C, NY, NX/W] fp32: columns r*NX/W ..
// Rows are transformed, rows and columns exchanged, columns transformed.
#include <pkb/reference.h>

#include <cmath>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x"];
  const std::vector<int64_t>& size = in.integers("s").values;
  const int64_t ny = size[0], nx = size[1], half = nx / 2 + 1, own_rows = x.size(2);
  const int64_t images = x.size(0) * x.size(1), ranks = comm.size(), own_columns = nx / ranks;

  const double scale = 1 / std::sqrt(static_cast<double>(ny * nx));
  const at::Tensor factors = at::full({half, 1}, 2 * scale, x.options().dtype(at::kFloat));
  factors.slice(0, 0, half, half - 1).fill_(scale);
  const at::Tensor rows = at::empty({images, own_rows, nx}, x.options());
  at::Tensor left = at::view_as_real(rows.narrow(2, 0, half));
  at::mul_out(left, at::view_as_real(x).flatten(0, 1), factors);
  rows.narrow(2, half, nx - half).zero_();

  const at::Tensor by_row = at::fft_ifft(rows, nx, /*dim=*/2, "forward");
  const at::Tensor sent = by_row.unflatten(2, {ranks, own_columns}).permute({2, 0, 1, 3}).contiguous();
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  const at::Tensor columns = received.permute({1, 3, 0, 2}).flatten(2);
  const at::Tensor y = at::real(at::fft_ifft(columns, ny, /*dim=*/2, "forward")).transpose(1, 2).contiguous();
  return {{"y", y.view({x.size(0), x.size(1), ny, own_columns})}};
}
PKB_REFERENCE(baseline)
