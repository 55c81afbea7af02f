// SPDX-License-Identifier: Apache-2.0
//
// All ranks' cameras project every Gaussian; what camera c of rank d sees goes to d, ordered by source rank, camera,
// Gaussian: pixel, depth, extent, colour, and the inverse covariance [[a, b], [b, c]] as a b c.
// camera_ids: number within d's cameras; gaussian_ids: number on the source + all Gaussians of ranks below d.
// means [N, 3], quats [N, 4], scales [N, 3], opacities [N], colors [N, CH], viewmats [C, 4, 4], Ks [C, 3, 3] fp32
#include "common/owner_exchange.h"
#include "vision/projection.h"

namespace {

at::Tensor gather(const at::Tensor& own, pkb::Comm& comm) {
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] *= comm.size();
  at::Tensor all = at::empty(shape, own.options());
  comm.all_gather_into_tensor(all, own);
  return all;
}

/// [pairs, 3]
at::Tensor inverses(const at::Tensor& covariance) {
  constexpr double kLeastDeterminant = 1e-10;
  const auto entry = [&](int64_t i, int64_t j) { return covariance.select(1, i).select(1, j); };
  const at::Tensor determinant = (entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(1, 0)).clamp_min_(kLeastDeterminant);
  return at::stack(
      {entry(1, 1) / determinant, -(entry(0, 1) + entry(1, 0)) / 2 / determinant, entry(0, 0) / determinant}, 1);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &means = in["means"], &colors = in["colors"];
  const int64_t own_cameras = in["viewmats"].size(0), ranks = comm.size();
  const at::Tensor gaussians = gather(at::full({1}, means.size(0), means.options().dtype(at::kInt)), comm);
  const at::Tensor before = gaussians.cumsum(0) - gaussians;  // Gaussians of lower ranks
  const at::Tensor cameras = gather(at::cat({in["viewmats"].flatten(1), in["Ks"].flatten(1)}, 1), comm);
  const at::Tensor viewmats = cameras.narrow(1, 0, 16).view({-1, 4, 4}),
                   intrinsics = cameras.narrow(1, 16, 9).view({-1, 3, 3});

  const pkb::Projection all = pkb::project(means, pkb::covariances(in["quats"], in["scales"]), viewmats, intrinsics,
                                           {in.integer("image_width"), in.integer("image_height"), in.real("eps2d"),
                                            in.real("near_plane"), in.real("far_plane")});
  const at::Tensor visible = (all.radii > 0).all(-1);
  const pkb::Splits splits = pkb::exchange_counts(visible.view({ranks, -1}).sum(1), comm);
  const at::Tensor pairs = visible.nonzero();
  const at::Tensor camera = pairs.select(1, 0), gaussian = pairs.select(1, 1);
  const at::Tensor place = camera * means.size(0) + gaussian;
  const auto chosen = [&](const at::Tensor& of_pair) { return of_pair.flatten(0, 1).index_select(0, place); };

  const at::Tensor destination = camera.floor_divide(own_cameras);
  const at::Tensor ids =
      at::stack({camera - destination * own_cameras, gaussian + before.index_select(0, destination)}, 1);
  const at::Tensor floats =
      at::cat({chosen(all.means2d), chosen(all.depths).unsqueeze(1), inverses(chosen(all.covariance)),
               in["opacities"].index_select(0, gaussian).unsqueeze(1), colors.index_select(0, gaussian)},
              1);

  const at::Tensor radii = pkb::exchange_rows(chosen(all.radii), splits, comm);
  const std::vector<at::Tensor> got =
      pkb::exchange_rows(floats, splits, comm).split_with_sizes({2, 1, 3, 1, colors.size(1)}, 1);
  const at::Tensor got_ids = pkb::exchange_rows(ids, splits, comm);
  return {{"camera_ids", got_ids.select(1, 0)},
          {"gaussian_ids", got_ids.select(1, 1)},
          {"radii", radii},
          {"means2d", got[0]},
          {"depths", got[1].squeeze(1)},
          {"conics", got[2]},
          {"opacities_out", got[3].squeeze(1)},
          {"colors_out", got[4]}};
}
PKB_REFERENCE(baseline)
