// SPDX-License-Identifier: Apache-2.0
//
// 3-D Gaussians seen by pinhole cameras (EWA splatting, Zwicker et al. 2001). In the precision of the arguments.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace pkb {

struct ImageRules {
  int64_t width, height;   // pixels
  double blur, near, far;  // blur: added to the variance along both axes, pixels^2
};

/// R(q / |q|) diag(s) of quaternions q = (w, v) [N, 4] and scales s [N, 3]: the axes of the ellipsoids, columns of
/// [3, 3, N]. R a = a + 2 w (v x a) + 2 v x (v x a) where |q| = 1.
inline at::Tensor ellipsoid_axes(const at::Tensor& quats, const at::Tensor& scales) {
  constexpr double kLeastNorm = 1e-12;
  const at::Tensor q = quats.t().contiguous();
  const at::Tensor unit = q / at::linalg_vector_norm(q, 2, {0}, /*keepdim=*/true).clamp_min_(kLeastNorm);
  const at::Tensor w = unit[0], v = unit.narrow(0, 1, 3).unsqueeze(1);
  const at::Tensor axes = at::eye(3, scales.options()).unsqueeze(2) * scales.t().contiguous();
  const at::Tensor twice = at::linalg_cross(v, axes, /*dim=*/0).mul_(2);
  return at::addcmul(axes, w, twice).add_(at::linalg_cross(v, twice, /*dim=*/0));
}

/// Of C cameras and N Gaussians.
struct Projection {
  at::Tensor means2d;     ///< [C, 2, N], pixels
  at::Tensor depths;      ///< [C, 1, N]
  at::Tensor covariance;  ///< [C, 2, 2, N], blurred
  at::Tensor extent;      ///< [C, 2, N]: 3.33 standard deviations, pixels
  at::Tensor radii;       ///< [C, 2, N]: the extent in whole pixels, still of a floating type
  at::Tensor visible;     ///< [C, N], bool
};

/// means [N, 3], axes [3, 3, N] of the ellipsoids, viewmats [C, 4, 4], intrinsics [C, 3, 3].
inline Projection project(const at::Tensor& means, const at::Tensor& axes, const at::Tensor& viewmats,
                          const at::Tensor& intrinsics, const ImageRules& image) {
  constexpr double kDeviations = 3.33, kBorder = 0.3;  // kBorder: how far outside the image slopes are kept
  const int64_t cameras = viewmats.size(0), gaussians = means.size(0);
  const at::Tensor rotation = viewmats.narrow(1, 0, 3).narrow(2, 0, 3).reshape({-1, 3}),
                   shift = viewmats.narrow(1, 0, 3).narrow(2, 3, 1).reshape({-1, 1});
  const at::Tensor in_camera = at::addmm(shift, rotation, means.t()).view({cameras, 3, gaussians});
  const at::Tensor turned = at::mm(rotation, axes.view({3, -1})).view({cameras, 3, 3, gaussians});

  const at::Tensor focal = intrinsics.diagonal(0, 1, 2).narrow(1, 0, 2).unsqueeze(2),
                   centre = intrinsics.narrow(1, 0, 2).narrow(2, 2, 1);
  const at::Tensor size = at::linspace(image.width, image.height, 2, means.options()).unsqueeze(1);
  const at::Tensor whole = size / focal, left = centre / focal;
  const at::Tensor lowest = at::add(left, whole, kBorder / 2).neg_(),
                   highest = at::sub(whole * (1 + kBorder / 2), left);
  const at::Tensor z = in_camera.narrow(1, 2, 1);
  const at::Tensor slope = at::clamp(in_camera.narrow(1, 0, 2) / z, lowest, highest);

  // The Jacobian's rows are focal / z * (1, 0, -slope) and (0, 1, -slope).
  const at::Tensor flat = at::addcmul(turned.narrow(1, 0, 2), slope.unsqueeze(2), turned.narrow(1, 2, 1), -1)
                              .mul_((focal / z).unsqueeze(2));
  const at::Tensor covariance = (flat.unsqueeze(1) * flat.unsqueeze(2)).sum(3);
  const at::Tensor variances = covariance.diagonal(0, 1, 2).transpose(1, 2);
  variances.add_(image.blur);

  const at::Tensor means2d = at::matmul(intrinsics.narrow(1, 0, 2), in_camera).div_(z);
  const at::Tensor extent = variances.sqrt().mul_(kDeviations), radii = extent.ceil();
  const at::Tensor touches = (means2d + radii > 0).logical_and_(means2d - radii < size).all(1);
  const at::Tensor visible = touches.logical_and_((z > image.near).logical_and_(z < image.far).squeeze(1));
  return {means2d, z, covariance, extent, radii, visible};
}

}  // namespace pkb
