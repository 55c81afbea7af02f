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

/// R(q / |q|) diag(s)^2 R^T of quaternions (w, x, y, z) [N, 4] and scales [N, 3]: [N, 3, 3].
inline at::Tensor covariances(const at::Tensor& quats, const at::Tensor& scales) {
  constexpr double kLeastNorm = 1e-12;
  const at::Tensor unit = quats / quats.norm(2, 1, /*keepdim=*/true).clamp_min(kLeastNorm);
  const std::vector<at::Tensor> q = unit.unbind(1);
  const at::Tensor &w = q[0], &x = q[1], &y = q[2], &z = q[3];
  const at::Tensor rotation = at::stack({1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                                         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                                         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
                                        1)
                                  .view({-1, 3, 3});
  const at::Tensor axes = rotation * scales.unsqueeze(1);
  return at::matmul(axes, axes.transpose(1, 2));
}

/// Of C cameras and N Gaussians.
struct Projection {
  at::Tensor means2d;     ///< [C, N, 2], pixels
  at::Tensor depths;      ///< [C, N]
  at::Tensor covariance;  ///< [C, N, 2, 2], blurred
  at::Tensor extent;      ///< [C, N, 2]: 3.33 standard deviations, pixels
  at::Tensor radii;       ///< [C, N, 2]: the extent in whole pixels, 0 0 where the camera does not see the Gaussian
};

/// means [N, 3], covariance [N, 3, 3], viewmats [C, 4, 4], intrinsics [C, 3, 3].
inline Projection project(const at::Tensor& means, const at::Tensor& covariance, const at::Tensor& viewmats,
                          const at::Tensor& intrinsics, const ImageRules& image) {
  constexpr double kDeviations = 3.33, kBorder = 0.3;  // kBorder: how far outside the image slopes are kept
  const at::Tensor rotation = viewmats.narrow(1, 0, 3).narrow(2, 0, 3),
                   shift = viewmats.narrow(1, 0, 3).narrow(2, 3, 1);
  const at::Tensor in_camera = at::matmul(means, rotation.transpose(1, 2)) + shift.transpose(1, 2);
  const at::Tensor rotated = at::einsum("cij,njk->cnik", {rotation, covariance});
  const at::Tensor seen = at::einsum("cnik,clk->cnil", {rotated, rotation});

  const auto entry = [&](int64_t i, int64_t j) { return intrinsics.select(1, i).select(1, j).unsqueeze(1); };
  const at::Tensor fx = entry(0, 0), fy = entry(1, 1), cx = entry(0, 2), cy = entry(1, 2);
  const auto pixels = [](int64_t n) { return static_cast<double>(n); };
  const at::Tensor x = in_camera.select(2, 0), y = in_camera.select(2, 1), z = in_camera.select(2, 2);
  const at::Tensor border_x = kBorder * 0.5 * pixels(image.width) / fx,
                   border_y = kBorder * 0.5 * pixels(image.height) / fy;
  const at::Tensor tx = z * at::clamp(x / z, -(cx / fx + border_x), (pixels(image.width) - cx) / fx + border_x);
  const at::Tensor ty = z * at::clamp(y / z, -(cy / fy + border_y), (pixels(image.height) - cy) / fy + border_y);
  const at::Tensor square = z * z, none = at::zeros_like(z);
  const at::Tensor jacobian = at::stack({fx / z, none, -fx * tx / square, none, fy / z, -fy * ty / square}, -1)
                                  .view({z.size(0), z.size(1), 2, 3});

  const at::Tensor sharp = at::matmul(at::matmul(jacobian, seen), jacobian.transpose(2, 3));
  const at::Tensor blurred = sharp + at::eye(2, sharp.options()) * image.blur;
  const at::Tensor means2d = at::matmul(in_camera, intrinsics.narrow(1, 0, 2).transpose(1, 2)) / z.unsqueeze(-1);
  const at::Tensor extent = blurred.diagonal(0, 2, 3).sqrt() * kDeviations;

  const at::Tensor size = at::tensor({pixels(image.width), pixels(image.height)}, means.options());
  const at::Tensor whole = extent.ceil();
  const at::Tensor visible =
      (z > image.near).logical_and_(z < image.far).unsqueeze(-1) & (means2d + whole > 0) & (means2d - whole < size);
  const at::Tensor radii = at::where(visible.all(-1, /*keepdim=*/true), whole, at::zeros({}, whole.options()));
  return {means2d, z, blurred, extent, radii.to(at::kInt)};
}

}  // namespace pkb
