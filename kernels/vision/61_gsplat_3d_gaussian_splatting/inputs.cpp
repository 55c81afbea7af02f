// SPDX-License-Identifier: Apache-2.0
//
// Gaussians all around the cameras, which look in all directions and differ in place and focal length. Case
// `blind_rank`: the last rank's cameras see nothing. A Gaussian is drawn again while rounding could change its radius
// or whether a camera sees it.
#include <pkb/inputs.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "vision/projection.h"

namespace {

constexpr int kMostAttempts = 100;
constexpr double kPixelMargin = 1e-2, kDepthMargin = 1e-4, kRadiusMargin = 1e-3, kRelativeMargin = 3e-5;

/// Cameras first .. first + count - 1 of all ranks, fp32 values.
struct Cameras {
  at::Tensor viewmats, intrinsics;  // [count, 4, 4], [count, 3, 3]
};

Cameras cameras(const pkb::DrawRequest& request, int64_t first, int64_t count) {
  const int64_t own = request.param("C"), all = own * request.world;
  const auto width = static_cast<double>(request.param("WIDTH")), height = static_cast<double>(request.param("HEIGHT"));
  std::vector<double> views, intrinsics;
  for (int64_t i = first; i < first + count; ++i) {
    const auto number = static_cast<double>(i);
    const double yaw = 2 * std::numbers::pi * number / static_cast<double>(all);
    const bool is_blind = request.case_name == "blind_rank" && i >= all - own;
    const double ahead = is_blind ? -10 : 1 + 0.5 * static_cast<double>(i % 3);
    const double focus = (0.7 + 0.05 * static_cast<double>(i % 5)) * std::min(width, height);
    views.insert(views.end(), {std::cos(yaw), 0, std::sin(yaw), 0.1 * number, 0, 1, 0, -0.05 * number, -std::sin(yaw),
                               0, std::cos(yaw), ahead, 0, 0, 0, 1});
    intrinsics.insert(intrinsics.end(), {focus, 0, width / 2 + number, 0, 1.1 * focus, height / 2 - number, 0, 0, 1});
  }
  const auto tensor = [&](const std::vector<double>& values, int64_t side) {
    return at::tensor(values, at::kDouble).to(at::kFloat).view({count, side, side}).to(request.device);
  };
  return {tensor(views, 4), tensor(intrinsics, 3)};
}

struct Gaussians {
  at::Tensor means, quats, scales;
};

Gaussians gaussians(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t n = request.param("N");
  return {draws.uniform("means", request.rank, {n, 3}, -2, 2), draws.normal("quats", request.rank, {n, 4}, 0, 1),
          draws.uniform("scales", request.rank, {n, 3}, 0.005, 0.055)};
}

/// Which Gaussians are too near to a threshold of a camera.
at::Tensor undecided(const pkb::DrawRequest& request, const Gaussians& all) {
  const at::Tensor axes = pkb::ellipsoid_axes(all.quats.to(at::kDouble), all.scales.to(at::kDouble));
  const auto real = [&](const char* name) { return std::get<double>(request.scalars.at(name)); };
  const pkb::ImageRules image{request.param("WIDTH"), request.param("HEIGHT"), real("eps2d"), real("near_plane"),
                              real("far_plane")};
  at::Tensor bad = at::zeros({all.means.size(0)}, all.means.options().dtype(at::kBool));
  for (int64_t i = 0; i < request.param("C") * request.world; ++i) {  // one by one: a million Gaussians need room
    const Cameras camera = cameras(request, i, 1);
    const pkb::Projection seen = pkb::project(all.means.to(at::kDouble), axes, camera.viewmats.to(at::kDouble),
                                              camera.intrinsics.to(at::kDouble), image);
    const at::Tensor mean = seen.means2d[0], extent = seen.extent[0], radius = extent.ceil();
    const at::Tensor depth = seen.depths[0][0];
    const at::Tensor slack = (mean.abs() + radius) * kRelativeMargin;
    const at::Tensor size =
        at::tensor({static_cast<double>(image.width), static_cast<double>(image.height)}, mean.options()).unsqueeze(1);
    const at::Tensor edge = at::minimum((mean + radius).abs(), (mean - radius - size).abs()) < kPixelMargin + slack;
    const at::Tensor rounding = (extent - extent.round()).abs() < (extent * kRelativeMargin).clamp_min(kRadiusMargin);
    const at::Tensor plane = (depth - image.near).abs() < kDepthMargin;
    bad.logical_or_(((edge | rounding).any(0) & (depth > image.near)) | plane);
  }
  return bad;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const Gaussians all = gaussians(request, draws);
  at::Tensor bad = undecided(request, all).nonzero().squeeze(1);
  for (int number = 1; bad.numel() > 0; ++number) {
    if (number == kMostAttempts) throw std::runtime_error("problem 61: no Gaussians clear of all thresholds");
    const Gaussians fresh = gaussians(request, draws.attempt(number));
    const Gaussians other{fresh.means.index_select(0, bad), fresh.quats.index_select(0, bad),
                          fresh.scales.index_select(0, bad)};
    all.means.index_copy_(0, bad, other.means);
    all.quats.index_copy_(0, bad, other.quats);
    all.scales.index_copy_(0, bad, other.scales);
    bad = bad.index_select(0, undecided(request, other).nonzero().squeeze(1));
  }
  const Cameras own = cameras(request, request.rank * request.param("C"), request.param("C"));
  out["means"] = all.means;
  out["quats"] = all.quats;
  out["scales"] = all.scales;
  out["viewmats"] = own.viewmats;
  out["Ks"] = own.intrinsics;
}
PKB_INPUTS(draw)
