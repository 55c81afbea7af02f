// SPDX-License-Identifier: Apache-2.0
//
// Overlapping tiles of z, each from its owner's z, are decoded (three channels, trilinear upsampling, bf16). The first
// voxels of a tile along time, height, width are blended with the last ones of the decoded tile before it there,
//   tile[e] = bf16(bf16(before[len - E + e] * (1 - e/E)) + bf16(tile[e] * e/E)),  e = 0 .. E-1
// then the tile is cut to what the next does not cover, and all tiles are joined: video, the same on all ranks.
// Every rank decodes and blends its own tiles. Tiles by size, largest first, go to ranks 0, 1, .. in turn.   bf16
#include <pkb/reference.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace {

constexpr int kAxes = 3;  // time, height, width: axes 2, 3, 4 of a tensor
constexpr int64_t kColours = 3;

/// How one axis is tiled. Lengths of latents, or of voxels where it says so.
struct Axis {
  int64_t size, tile, stride, factor, blend, keep, tiles;  // blend, keep: voxels
  Axis(int64_t all, int64_t length, double overlap, int64_t upsampling)
      : size(all),
        tile(length),
        stride(static_cast<int64_t>(static_cast<double>(length) * (1 - overlap))),
        factor(upsampling),
        blend(static_cast<int64_t>(static_cast<double>(length * upsampling) * overlap)),
        keep(length * upsampling - blend),
        tiles(0) {
    TORCH_CHECK(stride > 0, "an overlap of ", overlap, " leaves no stride in a tile of ", length);
    tiles = (size + stride - 1) / stride;
  }
  int64_t begin(int64_t index) const { return index * stride; }
  int64_t length(int64_t index) const { return std::min(tile, size - begin(index)); }
  int64_t kept(int64_t index) const { return std::min(keep, length(index) * factor); }  // voxels
};

using Place = std::array<int64_t, kAxes>;

using Extent = std::array<int64_t, kAxes>;

struct Tiling {
  std::array<Axis, kAxes> axes;
  std::vector<std::vector<int64_t>> owned;  ///< tiles of each rank

  int64_t tiles() const { return axes[0].tiles * axes[1].tiles * axes[2].tiles; }
  Place place(int64_t tile) const {
    return {tile / axes[2].tiles / axes[1].tiles, tile / axes[2].tiles % axes[1].tiles, tile % axes[2].tiles};
  }
  int64_t before(int64_t tile, int axis) const {
    return tile - (axis == 2 ? 1 : axis == 1 ? axes[2].tiles : axes[2].tiles * axes[1].tiles);
  }
  int64_t latents(int64_t tile) const {
    const Place at = place(tile);
    return axes[0].length(at[0]) * axes[1].length(at[1]) * axes[2].length(at[2]);
  }
  Extent decoded(int64_t tile) const {
    const Place at = place(tile);
    return {axes[0].length(at[0]) * axes[0].factor, axes[1].length(at[1]) * axes[1].factor,
            axes[2].length(at[2]) * axes[2].factor};
  }
  Extent kept(int64_t tile) const {
    const Place at = place(tile);
    return {axes[0].kept(at[0]), axes[1].kept(at[1]), axes[2].kept(at[2])};
  }
};

Tiling make_tiling(const pkb::Inputs& in, const at::Tensor& z, int ranks) {
  const int64_t factor = in.integer("spatial_upsample") * in.integer("sr_ratio");
  const int64_t time = in.integer("tile_t") + (in.boolean("first_frame_as_image") ? 1 : 0);
  const double overlap = in.real("spatial_overlap");
  Tiling tiling{
      {Axis(z.size(2), time, in.real("temporal_overlap"), in.integer("temporal_upsample")),
       Axis(z.size(3), in.integer("tile_h"), overlap, factor), Axis(z.size(4), in.integer("tile_w"), overlap, factor)},
      std::vector<std::vector<int64_t>>(static_cast<std::size_t>(ranks))};
  std::vector<int64_t> by_size(static_cast<std::size_t>(tiling.tiles()));
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](int64_t a, int64_t b) { return tiling.latents(a) > tiling.latents(b); });
  for (std::size_t i = 0; i < by_size.size(); ++i) tiling.owned[i % tiling.owned.size()].push_back(by_size[i]);
  return tiling;
}

/// Every rank makes its own tiles in one buffer, and all ranks get all buffers. The tiles, by number.
template <class Shape, class Make>
std::vector<at::Tensor> make_and_share(const Tiling& tiling, const at::Tensor& z, Shape shape, Make make,
                                       pkb::Comm& comm) {
  std::vector<at::Tensor> buffers, tiles(static_cast<std::size_t>(tiling.tiles()));
  for (const std::vector<int64_t>& owned : tiling.owned) {
    std::vector<int64_t> voxels;
    for (const int64_t tile : owned) {
      const auto extent = shape(tile);
      voxels.push_back(z.size(0) * kColours * extent[0] * extent[1] * extent[2]);
    }
    buffers.push_back(at::empty({std::accumulate(voxels.begin(), voxels.end(), int64_t{0})}, z.options()));
    const std::vector<at::Tensor> parts = buffers.back().split_with_sizes(voxels);
    for (std::size_t i = 0; i < owned.size(); ++i) {
      const auto extent = shape(owned[i]);
      tiles[static_cast<std::size_t>(owned[i])] = parts[i].view({z.size(0), kColours, extent[0], extent[1], extent[2]});
    }
  }
  const auto own = static_cast<std::size_t>(comm.rank());
  for (const int64_t tile : tiling.owned[own]) make(tile, tiles[static_cast<std::size_t>(tile)]);
  const at::Tensor sent = buffers[own];
  comm.all_gather(buffers, sent);
  return tiles;
}

void decode(const at::Tensor& z, const Tiling& tiling, int64_t tile, const at::Tensor& decoded) {
  const Place at = tiling.place(tile);
  at::Tensor latents = z.narrow(1, 0, std::min(kColours, z.size(1)));
  for (int i = 0; i < kAxes; ++i) {
    const Axis& axis = tiling.axes[static_cast<std::size_t>(i)];
    latents = latents.narrow(i + 2, axis.begin(at[static_cast<std::size_t>(i)]),
                             axis.length(at[static_cast<std::size_t>(i)]));
  }
  const at::Tensor voxels =
      at::upsample_trilinear3d(latents.to(at::kFloat), decoded.sizes().slice(2), /*align_corners=*/false);
  const int64_t copies = (kColours + voxels.size(1) - 1) / voxels.size(1);
  decoded.copy_(copies == 1 ? voxels : voxels.repeat({1, copies, 1, 1, 1}).narrow(1, 0, kColours));
}

at::Tensor crop(const at::Tensor& tile, const Extent& extent, int except = -1) {
  at::Tensor result = tile;
  for (int i = 0; i < kAxes; ++i) {
    if (i != except) result = result.narrow(i + 2, 0, extent[static_cast<std::size_t>(i)]);
  }
  return result;
}

void blend(const std::vector<at::Tensor>& decoded, const Tiling& tiling, int64_t tile, const at::Tensor& blended) {
  const Place at = tiling.place(tile);
  const Extent extent = tiling.kept(tile);
  blended.copy_(crop(decoded[static_cast<std::size_t>(tile)], extent));
  for (int i = 0; i < kAxes; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    if (at[axis] == 0) continue;
    const at::Tensor before = crop(decoded[static_cast<std::size_t>(tiling.before(tile, i))], extent, i);
    const int64_t length = before.size(i + 2);
    const int64_t overlap = std::min({length, tiling.decoded(tile)[axis], tiling.axes[axis].blend});
    const int64_t kept = std::min(overlap, extent[axis]);
    if (kept == 0) continue;
    std::vector<int64_t> along(5, 1);
    along[axis + 2] = kept;
    const at::Tensor rising =
        at::arange(kept, blended.options().dtype(at::kDouble)).div_(static_cast<double>(overlap)).view(along);
    at::Tensor fading = at::empty_like(blended.narrow(i + 2, 0, kept));
    at::mul_out(fading, before.narrow(i + 2, length - overlap, kept), (1 - rising).to(at::kFloat));
    blended.narrow(i + 2, 0, kept).mul_(rising.to(at::kFloat)).add_(fading);
  }
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& z = in["z"];
  const Tiling tiling = make_tiling(in, z, comm.size());
  const std::vector<at::Tensor> decoded = make_and_share(
      tiling, z, [&](int64_t tile) { return tiling.decoded(tile); },
      [&](int64_t tile, const at::Tensor& result) { decode(z, tiling, tile, result); }, comm);
  const std::vector<at::Tensor> blended = make_and_share(
      tiling, z, [&](int64_t tile) { return tiling.kept(tile); },
      [&](int64_t tile, const at::Tensor& result) { blend(decoded, tiling, tile, result); }, comm);

  const auto& [time, height, width] = tiling.axes;
  const at::Tensor video =
      at::empty({z.size(0), kColours, time.size * time.factor, height.size * height.factor, width.size * width.factor},
                z.options());
  for (int64_t tile = 0; tile < tiling.tiles(); ++tile) {
    const Place at = tiling.place(tile);
    const at::Tensor& part = blended[static_cast<std::size_t>(tile)];
    video.narrow(2, at[0] * time.keep, part.size(2))
        .narrow(3, at[1] * height.keep, part.size(3))
        .narrow(4, at[2] * width.keep, part.size(4))
        .copy_(part);
  }
  return {{"video", video}};
}
PKB_REFERENCE(baseline)
