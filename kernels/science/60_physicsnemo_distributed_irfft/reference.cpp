// SPDX-License-Identifier: Apache-2.0
//
// Z[u, v] = X[u, v] for v <= NX/2, else conj(X[-u mod NY, NX - v]);   X: the half spectrum, joined over ranks along u
// y[m, n] = (NY*NX)^-0.5 * Re(sum over u, v of Z[u, v] * exp(2 pi i (u*m/NY + v*n/NX)))
// x [B, C, NY/W, NX/2+1] complex64: rows r*NY/W .. of X; y [B, C, NY, NX/W] fp32: columns r*NX/W ..
// Rows are completed and transformed, rows and columns exchanged, columns transformed.
#include <pkb/reference.h>

namespace {

using at::indexing::Slice;

/// Own rows of Z [B, C, NY/W, NX]: each rank mirrors its rows within themselves, then takes the right half of row u
/// from that of row -u mod NY, whoever's it is.
at::Tensor complete(const at::Tensor& x, int64_t ny, int64_t nx, pkb::Comm& comm) {
  const int64_t half = nx / 2 + 1, own_rows = x.size(2), mirrored = half - 2;
  const at::Tensor rows = at::empty({x.size(0), x.size(1), own_rows, nx}, x.options());
  rows.narrow(3, 0, half).copy_(x);
  rows.narrow(3, half, mirrored).copy_(x.narrow(3, 1, mirrored).conj().flip(3));

  at::Tensor gathered = at::empty({comm.size(), x.size(0), x.size(1), own_rows, nx}, x.options());
  comm.all_gather_into_tensor(gathered, rows);
  const at::Tensor own = at::arange(own_rows, x.options().dtype(at::kLong)) + comm.rank() * own_rows;
  const at::Tensor source = (ny - own).remainder_(ny);
  const at::Tensor right_halves = gathered.narrow(4, half, mirrored).permute({1, 2, 0, 3, 4});
  rows.narrow(3, half, mirrored)
      .copy_(right_halves.index({Slice(), Slice(), source.floor_divide(own_rows), source.remainder(own_rows)}));
  return rows;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x"];
  const std::vector<int64_t>& size = in.integers("s").values;
  const std::vector<int64_t>& dim = in.integers("dim").values;
  const std::string& norm = in.string("norm");
  const int64_t batch = x.size(0), channels = x.size(1), ranks = comm.size(), own_columns = size[1] / ranks;

  const at::Tensor by_row = at::fft_ifft(complete(x, size[0], size[1], comm), size[1], dim[1], norm);
  const at::Tensor sent =
      by_row.view({batch, channels, x.size(2), ranks, own_columns}).permute({3, 0, 1, 2, 4}).contiguous();
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  const at::Tensor columns = received.permute({1, 2, 0, 3, 4}).reshape({batch, channels, size[0], own_columns});
  return {{"y", at::real(at::fft_ifft(columns, size[0], dim[0], norm)).contiguous()}};
}
PKB_REFERENCE(baseline)
