// SPDX-License-Identifier: Apache-2.0
//
// Objects: noisy discs on a torus, logit = radius - distance + 0.3 * N(0,1). On each rank a third are drawn, a third
// are copies of another rank's, shifted so that their IoU is about 0.8, a third so that it is about 0.6; one of these
// has no pixel. Objects are drawn again while a pair lies within 0.01 of 0.7, or a copy on the wrong side.
// scores ~ N(0, 3). last_occluded: uniform in -1 .. 6; in one copy of IoU 0.8 less than in the object, in one equal, in
// one -1. All ranks draw all objects and keep their own.
#include <pkb/inputs.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

constexpr int kMostAttempts = 200;
constexpr double kThreshold = 0.7, kMargin = 0.01, kNoise = 0.3;
constexpr double kShiftFor[] = {0, 0.175, 0.39};  // in radii: IoU 0.8 and 0.6
constexpr int64_t kUnseen = -1, kLast = 6;        // last_occluded

enum class Kind { drawn, close_copy, far_copy };

struct Scene {
  std::vector<int64_t> counts;
  int64_t objects = 0, height = 0, width = 0;
  explicit Scene(const pkb::DrawRequest& request) : height(request.param("H")), width(request.param("Wd")) {
    for (int64_t r = 0; r < request.world; ++r) {
      counts.push_back(r == request.param("idle") ? 0 : request.param("nmin") * (1 + r % 3));
    }
    objects = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  }
  /// Number of rank r's first object.
  int64_t first(int64_t r) const { return std::accumulate(counts.begin(), counts.begin() + r, int64_t{0}); }
};

std::vector<int64_t> list(const at::Tensor& numbers) {
  const at::Tensor on_host = numbers.to(at::kCPU).contiguous();
  const auto* data = on_host.const_data_ptr<int64_t>();
  return {data, data + on_host.numel()};
}

/// Which objects are drawn and which are copies.
std::vector<Kind> kinds(const Scene& scene, const pkb::Draws& draws) {
  std::vector<Kind> result;
  for (std::size_t r = 0; r < scene.counts.size(); ++r) {
    const int64_t drawn = scene.counts[r] / 3;
    for (const int64_t place : list(draws.permutation("kinds", static_cast<int>(r), scene.counts[r]))) {
      result.push_back(place < drawn ? Kind::drawn : (place - drawn) % 2 == 0 ? Kind::close_copy : Kind::far_copy);
    }
  }
  return result;
}

/// For each object a drawn one of another rank, if another rank has any; for a drawn object itself.
std::vector<int64_t> originals(const Scene& scene, const std::vector<Kind>& kind, const pkb::Draws& draws) {
  const std::vector<int64_t> choice = list(draws.integers("originals", -1, {scene.objects}, 0, 1 << 20));
  std::vector<int64_t> result;
  for (std::size_t r = 0; r < scene.counts.size(); ++r) {
    const int64_t begin = scene.first(static_cast<int64_t>(r)), end = begin + scene.counts[r];
    std::vector<int64_t> foreign, own;
    for (int64_t i = 0; i < scene.objects; ++i) {
      if (kind[static_cast<std::size_t>(i)] == Kind::drawn) (i >= begin && i < end ? own : foreign).push_back(i);
    }
    const std::vector<int64_t>& candidates = foreign.empty() ? own : foreign;
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      result.push_back(kind[at] == Kind::drawn ? i
                                               : candidates[static_cast<std::size_t>(choice[at]) % candidates.size()]);
    }
  }
  return result;
}

/// What an attempt decides of an object.
struct Objects {
  at::Tensor logits;     // [objects, height, width]
  at::Tensor radius;     // [objects]
  at::Tensor direction;  // [objects], of the shift
  at::Tensor original;   // [objects]

  /// Takes the objects in `which` from another attempt.
  void replace(const at::Tensor& which, const Objects& other) {
    logits = at::where(which.view({-1, 1, 1}), other.logits, logits);
    radius = at::where(which, other.radius, radius);
    direction = at::where(which, other.direction, direction);
    original = at::where(which, other.original, original);
  }
};

Objects attempt(const Scene& scene, const std::vector<Kind>& kind, const pkb::Draws& draws) {
  const double side = static_cast<double>(std::min(scene.height, scene.width));
  const at::Tensor radius = draws.uniform("radius", -1, {scene.objects}, std::max(0.1 * side, 4.5), 0.375 * side);
  const auto offset = [&](const char* stream, int64_t size) {
    const at::Tensor centre = draws.integers(stream, -1, {scene.objects, 1}, 0, size - 1);
    const at::Tensor ahead = (at::arange(size, centre.options()) - centre).remainder(size);
    return at::minimum(ahead, size - ahead).to(at::kFloat);
  };
  const at::Tensor square =
      offset("y", scene.height).square().unsqueeze(2) + offset("x", scene.width).square().unsqueeze(1);
  const at::Tensor noise = draws.normal("noise", -1, {scene.objects, scene.height, scene.width}, 0, 1);
  return {radius.view({-1, 1, 1}) - square.sqrt() + noise * kNoise, radius,
          draws.integers("direction", -1, {scene.objects}, 0, 3),
          at::tensor(originals(scene, kind, draws), at::kLong).to(radius.device())};
}

/// [objects, height, width] bf16
at::Tensor masks_of(const Objects& objects, const std::vector<Kind>& kind, int64_t empty) {
  const std::vector<int64_t> direction = list(objects.direction), original = list(objects.original);
  const at::Tensor radius = objects.radius.to(at::kCPU);
  std::vector<at::Tensor> masks;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    const at::Tensor disc = objects.logits[original[i]];
    const double shift = kShiftFor[static_cast<int>(kind[i])] * radius[original[i]].item<double>();
    const auto pixels = std::max<int64_t>(1, std::lround(shift)) * (direction[i] % 2 == 0 ? 1 : -1);
    masks.push_back(kind[i] == Kind::drawn ? disc : disc.roll(pixels, direction[i] / 2));
    if (static_cast<int64_t>(i) == empty) masks.back() = masks.back().clamp_max(0);
  }
  return at::stack(masks).to(at::kBFloat16);
}

/// Objects to draw again [objects]: the later one of each bad pair, and its original.
at::Tensor bad_objects(const at::Tensor& masks, const at::Tensor& original, const std::vector<Kind>& kind,
                       int64_t empty) {
  const int64_t objects = masks.size(0);
  const at::Tensor inside = (masks > 0).to(at::kFloat).flatten(1), area = inside.sum(1);
  const at::Tensor common = at::matmul(inside, inside.t());
  const at::Tensor iou = common.to(at::kDouble) / (area.unsqueeze(1) + area - common).clamp_min(1);
  at::Tensor bad = ((iou - kThreshold).abs() < kMargin).tril(-1).any(1);

  std::vector<int64_t> side;  // of the threshold that a copy's IoU with its original must be on; 0: either
  for (const Kind k : kind) side.push_back(k == Kind::drawn ? 0 : k == Kind::close_copy ? 1 : -1);
  if (empty >= 0) side[static_cast<std::size_t>(empty)] = 0;
  const at::Tensor of_copy = iou.gather(1, original.unsqueeze(1)).squeeze(1) - kThreshold;
  bad.logical_or_(of_copy * at::tensor(side, at::kLong).to(masks.device()) < 0);
  const at::Tensor count = at::zeros({objects}, original.options()).index_add_(0, original, bad.to(at::kLong));
  return bad | (count > 0);
}

at::Tensor all_masks(const Scene& scene, const std::vector<Kind>& kind, int64_t empty, const pkb::Draws& draws,
                     at::Tensor& original) {
  Objects objects = attempt(scene, kind, draws);
  for (int number = 1; number < kMostAttempts; ++number) {
    const at::Tensor masks = masks_of(objects, kind, empty);
    const at::Tensor bad = bad_objects(masks, objects.original, kind, empty);
    if (!bad.any().item<bool>()) {
      original = objects.original;
      return masks;
    }
    objects.replace(bad, attempt(scene, kind, draws.attempt(number)));
  }
  throw std::runtime_error("problem 81: no objects whose IoU are all clear of the threshold");
}

/// Of the close copies three, as far as there are, get what decides a rule; their originals are never unseen.
at::Tensor occlusions(const Scene& scene, const std::vector<Kind>& kind, const std::vector<int64_t>& original,
                      const pkb::Draws& draws) {
  std::vector<int64_t> last = list(draws.integers("last_occluded", -1, {scene.objects}, kUnseen, kLast));
  int rule = 0;
  for (const int64_t i : list(draws.permutation("rules", -1, scene.objects))) {
    const auto copy = static_cast<std::size_t>(i);
    if (kind[copy] != Kind::close_copy || rule == 3) continue;
    int64_t& of_original = last[static_cast<std::size_t>(original[copy])];
    of_original = std::max<int64_t>(of_original, 1);
    last[copy] = rule == 0 ? of_original - 1 : rule == 1 ? of_original : kUnseen;
    ++rule;
  }
  return at::tensor(last, at::kLong);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const Scene scene(request);
  const std::vector<Kind> kind = kinds(scene, draws);
  int64_t empty = -1;
  for (const int64_t i : list(draws.permutation("empty", -1, scene.objects))) {
    if (kind[static_cast<std::size_t>(i)] == Kind::far_copy) empty = i;
  }
  at::Tensor original;
  const at::Tensor masks = all_masks(scene, kind, empty, draws, original);
  const int64_t first = scene.first(request.rank), own = scene.counts[static_cast<std::size_t>(request.rank)];
  out["masks"] = masks.narrow(0, first, own).clone();
  out["scores"] = draws.normal("scores", request.rank, {own}, 0, 3).to(at::kBFloat16);
  out["counts"] = at::tensor(scene.counts, at::kLong);
  out["last_occluded"] = occlusions(scene, kind, list(original), draws).to(request.device);
}
PKB_INPUTS(draw)
