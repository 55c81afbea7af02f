// SPDX-License-Identifier: Apache-2.0
//
// y[b, c, k, t, n] = sum over p, lat, lon of psi_p[k, t, (lat, lon)] * x_p[b, c, lat, lon + n mod LON]
// out[b, o, t, n] = bias[o] + sum over c, k of weight[o, c, k] * y[b, c, k, t, n]
// Rank (p, a) has latitudes p*LAT/PO .. and longitudes a*LON/AZ .. of x [B, C, LAT/PO, LON/AZ] and of out; psi_p is
// sparse [K, LAT, LAT/PO*LON]; fp32.   Azimuth exchange (channels for longitudes), contraction, polar sum, back
#include <pkb/reference.h>

#include <tuple>

namespace {

/// What embedding_bag adds up: bag (n, k, t) is the sum of weights[i] * field[points[i]], offsets[bag] <= i.
struct Bags {
  at::Tensor points, weights, offsets;
};

/// psi: its places [3, entries], sorted: (k, t, lat*LON + lon), and values. The field lies as [azimuth, lat, longitude
/// within it].
Bags bags(const at::Tensor& places, const at::Tensor& values, int64_t functions, int64_t all_latitudes,
          const at::Tensor& field) {
  const int64_t latitudes = field.size(1), part = field.size(2), longitudes = field.size(0) * part;
  const at::Tensor numbers = at::arange(longitudes * latitudes, places.options()).view({-1, latitudes, part});
  const at::Tensor along = numbers.select(1, 0).flatten();  // points by longitude, at latitude 0
  const at::Tensor turned = at::cat({along, along}).unfold(0, longitudes, 1).narrow(0, 0, longitudes);
  const at::Tensor latitude = places[2].floor_divide(longitudes), longitude = places[2].remainder(longitudes);
  const at::Tensor points = turned.index_select(1, longitude).add_(latitude, part);

  const int64_t entries = values.size(0);
  const at::Tensor line = at::add(places[1], places[0], all_latitudes);
  const at::Tensor first = at::searchsorted(line, at::arange(functions * all_latitudes, places.options()));
  const at::Tensor offsets = first + at::arange(0, longitudes * entries, entries, places.options()).unsqueeze(1);
  return {points.view(-1), values.expand({longitudes, entries}).flatten(), offsets.view(-1)};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &x = in["x"], &weight = in["weight"];
  pkb::Comm &azimuth = comm.group("azimuth"), &polar = comm.group("polar");
  const int64_t batch = x.size(0), latitudes = x.size(2), part = x.size(3), around = azimuth.size();
  const int64_t own_channels = x.size(1) / around, functions = weight.size(2), groups = in.integer("groups");

  const at::Tensor sent = x.unflatten(1, {around, own_channels}).permute({1, 3, 4, 0, 2}).contiguous();
  at::Tensor field = at::empty_like(sent);  // [AZ, lat, LON/AZ, B, C/AZ]
  const auto work = azimuth.start_all_to_all_single(field, sent);
  const Bags sums = bags(in["psi_indices"], in["psi_values"], functions, latitudes * polar.size(), field);
  work->wait();
  at::Tensor y = std::get<0>(at::embedding_bag(field.flatten(3).flatten(0, 2), sums.points, sums.offsets,
                                               /*scale_grad_by_freq=*/false, /*mode=*/0, /*sparse=*/false,
                                               sums.weights));  // [LON*K*LAT, B*C/AZ]
  if (polar.size() > 1) {
    const at::Tensor parts = y.view({-1, polar.size(), latitudes * y.size(1)}).transpose(0, 1).contiguous();
    y = at::empty({parts.size(1), parts.size(2)}, y.options());
    polar.reduce_scatter_tensor(y, parts);
  }

  at::Tensor received = at::empty({around, part, functions, latitudes, batch, own_channels}, x.options());
  azimuth.all_to_all_single(received, y.view(received.sizes()));
  const at::Tensor features = received.permute({4, 0, 5, 2, 3, 1}).reshape({batch, groups, -1, latitudes * part});
  const at::Tensor mixed = at::matmul(weight.view({groups, -1, features.size(2)}), features);
  return {{"out", mixed.view({batch, -1, latitudes, part}).add_(in["bias"].view({-1, 1, 1}))}};
}
PKB_REFERENCE(baseline)
