// SPDX-License-Identifier: Apache-2.0
//
// y[b, c, k, t, n] = sum over p, lat, lon of psi_p[k, t, (lat, lon)] * x_p[b, c, lat, lon + n mod LON]
// out[b, o, t, n] = bias[o] + sum over c, k of weight[o, c, k] * y[b, c, k, t, n]
// Rank (p, a) has latitudes p*LAT/PO .. and longitudes a*LON/AZ .. of x [B, C, LAT/PO, LON/AZ] and of out; psi_p is
// sparse [K, LAT, LAT/PO*LON]; fp32.   Azimuth exchange (channels for longitudes), contraction, polar sum, back
#include <pkb/reference.h>

namespace {

using at::indexing::Slice;

/// Axis `from` is cut into a part for each rank; what arrives is stacked in a new first axis.
at::Tensor exchange_parts(const at::Tensor& tensor, int64_t from, pkb::Comm& comm) {
  const at::Tensor sent = at::stack(tensor.chunk(comm.size(), from));
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  return received;
}

/// x [B, C, lat, LON]; psi: its places [3, entries] (k, t, lat*LON + lon) and values. [B, C, K, LAT, LON]
at::Tensor contract(const at::Tensor& x, const at::Tensor& places, const at::Tensor& values, int64_t functions,
                    int64_t latitudes) {
  const int64_t longitudes = x.size(3);
  const at::Tensor windows = at::cat({x, x}, 3).unfold(3, longitudes, 1);  // [B, C, lat, shift, LON]
  const at::Tensor latitude = places[2].floor_divide(longitudes), longitude = places[2].remainder(longitudes);
  const at::Tensor terms = windows.index({Slice(), Slice(), latitude, longitude}).mul_(values.unsqueeze(1));
  const at::Tensor rows = places[0] * latitudes + places[1];
  return at::zeros({x.size(0), x.size(1), functions * latitudes, longitudes}, x.options())
      .index_add_(2, rows, terms)
      .view({x.size(0), x.size(1), functions, latitudes, longitudes});
}

/// y [B, C, K, lat, lon], weight [O, C/groups, K]: [B, O, lat, lon]
at::Tensor mix_channels(const at::Tensor& y, const at::Tensor& weight, int64_t groups) {
  return at::einsum("bgcktn,gock->bgotn", {y.unflatten(1, {groups, y.size(1) / groups}),
                                           weight.unflatten(0, {groups, weight.size(0) / groups})})
      .flatten(1, 2);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &x = in["x"], &weight = in["weight"];
  pkb::Comm &azimuth = comm.group("azimuth"), &polar = comm.group("polar");
  const int64_t own_latitudes = x.size(2), latitudes = own_latitudes * polar.size();

  const at::Tensor by_longitude = exchange_parts(x, 1, azimuth);  // [AZ, B, C/AZ, lat, LON/AZ]
  const at::Tensor all_longitudes = by_longitude.permute({1, 2, 3, 0, 4}).flatten(3);
  at::Tensor y = contract(all_longitudes, in["psi_indices"], in["psi_values"], weight.size(2), latitudes);
  if (polar.size() > 1) polar.all_reduce(y);
  y = y.narrow(3, polar.rank() * own_latitudes, own_latitudes);
  const at::Tensor by_channel = exchange_parts(y, 4, azimuth);  // [AZ, B, C/AZ, K, lat, LON/AZ]
  const at::Tensor all_channels = by_channel.transpose(0, 1).flatten(1, 2);
  return {{"out", mix_channels(all_channels, weight, in.integer("groups")).add_(in["bias"].view({-1, 1, 1}))}};
}
PKB_REFERENCE(baseline)
