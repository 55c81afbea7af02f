// SPDX-License-Identifier: Apache-2.0
//
// All ranks' cameras project every Gaussian; what camera c of rank d sees goes to d, ordered by source rank, camera,
// Gaussian: pixel, depth, extent, colour, and the inverse covariance [[a, b], [b, c]] as a b c.
// camera_ids: number within d's cameras; gaussian_ids: number on the source + all Gaussians of ranks below d.
// means [N, 3], quats [N, 4], scales [N, 3], opacities [N], colors [N, CH], viewmats [C, 4, 4], Ks [C, 3, 3] fp32
#include <numeric>

#include "common/owner_exchange.h"
#include "vision/projection.h"

namespace {

/// a b c of the inverses [[a, b], [b, c]] of covariances [C, 2, 2, N]: [C, 3, N]
at::Tensor inverses(const at::Tensor& covariance) {
  constexpr double kLeastDeterminant = 1e-10;
  const auto entry = [&](int64_t i, int64_t j) { return covariance.select(1, i).select(1, j); };
  const at::Tensor determinant = (entry(0, 0) * entry(1, 1)).addcmul_(entry(0, 1), entry(0, 1), -1);
  return at::stack({entry(1, 1), -entry(0, 1), entry(0, 0)}, 1)
      .div_(determinant.clamp_min_(kLeastDeterminant).unsqueeze(1));
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &means = in["means"], &colors = in["colors"];
  const int64_t count = means.size(0), own_cameras = in["viewmats"].size(0), ranks = comm.size();

  // Every camera comes with the number of Gaussians of its rank. Integers travel as the bits of floats.
  const at::Tensor number = at::full({own_cameras, 1}, count, means.options().dtype(at::kInt)).view(at::kFloat);
  const at::Tensor own = at::cat({in["viewmats"].flatten(1), in["Ks"].flatten(1), number}, 1);
  at::Tensor cameras = at::empty({ranks * own_cameras, own.size(1)}, own.options());
  comm.all_gather_into_tensor(cameras, own);
  const at::Tensor viewmats = cameras.narrow(1, 0, 16).view({-1, 4, 4}),
                   intrinsics = cameras.narrow(1, 16, 9).view({-1, 3, 3});
  const at::Tensor numbers = cameras.select(1, 25).view({ranks, own_cameras}).select(1, 0).view(at::kInt);
  const at::Tensor before = numbers.cumsum(0) - numbers;  // Gaussians of lower ranks

  const pkb::Projection all = pkb::project(means, pkb::ellipsoid_axes(in["quats"], in["scales"]), viewmats, intrinsics,
                                           {in.integer("image_width"), in.integer("image_height"), in.real("eps2d"),
                                            in.real("near_plane"), in.real("far_plane")});
  const pkb::ArrivingSplits counted(all.visible.view({ranks, -1}).sum(1), comm);
  const at::Tensor rows = at::cat({all.means2d, all.depths, inverses(all.covariance), all.radii}, 1)
                              .transpose(1, 2)
                              .flatten(0, 1);  // by camera and Gaussian
  const pkb::Splits splits = counted.read();
  // The number of pairs is known: no need to look at it again.
  const int64_t pairs = std::accumulate(splits.sent.begin(), splits.sent.end(), int64_t{0});
  const at::Tensor pair = at::nonzero_static(all.visible.view(-1), pairs).squeeze(1);
  const at::Tensor camera = pair.floor_divide(count), gaussian = pair.remainder(count);
  const at::Tensor ids =
      at::stack({camera.remainder(own_cameras), gaussian + before.index_select(0, camera.floor_divide(own_cameras))}, 1)
          .to(at::kInt);

  const at::Tensor sent = at::cat({rows.index_select(0, pair), in["opacities"].index_select(0, gaussian).unsqueeze(1),
                                   colors.index_select(0, gaussian), ids.view(at::kFloat)},
                                  1);
  const std::vector<at::Tensor> got =
      pkb::exchange_rows(sent, splits, comm).split_with_sizes({2, 1, 3, 2, 1, colors.size(1), 2}, 1);
  const at::Tensor got_ids = got[6].view(at::kInt).to(at::kLong);
  return {{"camera_ids", got_ids.select(1, 0)}, {"gaussian_ids", got_ids.select(1, 1)},
          {"radii", got[3].to(at::kInt)},       {"means2d", got[0]},
          {"depths", got[1].squeeze(1)},        {"conics", got[2]},
          {"opacities_out", got[4].squeeze(1)}, {"colors_out", got[5]}};
}
PKB_REFERENCE(baseline)
