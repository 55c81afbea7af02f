// SPDX-License-Identifier: Apache-2.0
//
// local_tensor = 2^u * normal, u uniform in [-10, 10] for each block of each rank. Five blocks, others in each draw,
// are special: all zero; one element alone; all -0; the largest magnitude negative; scale 1 and everything else halfway
// between two codes.
#include <pkb/inputs.h>

namespace {

constexpr int64_t kSpecialBlocks = 5;

/// The 126 numbers halfway between neighbouring E4M3 numbers, 2^-10 .. 432.
at::Tensor midpoints(at::Device device) {
  constexpr int64_t kCodes = 127;  // 0 .. 448
  const at::Tensor bytes = at::arange(kCodes, at::TensorOptions().dtype(at::kByte).device(device));
  const at::Tensor numbers = bytes.view(at::kFloat8_e4m3fn).to(at::kFloat);
  return (numbers.narrow(0, 0, kCodes - 1) + numbers.narrow(0, 1, kCodes - 1)) * 0.5;
}

at::Tensor ties(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t length) {
  const at::Tensor points = midpoints(request.device);
  const auto indices = at::TensorOptions().dtype(at::kLong).device(request.device);
  at::Tensor values = points.index_select(0, at::arange(length, indices).remainder(points.size(0)));
  values[0].fill_(448);
  const at::Tensor sign = draws.integers("sign", request.rank, {length}, 0, 1) * 2 - 1;
  return (values * sign).index_select(0, draws.permutation("ties", request.rank, length));
}

/// blocks [n, length] fp32
void plant_special(const pkb::DrawRequest& request, const pkb::Draws& draws, const at::Tensor& blocks) {
  const int64_t length = blocks.size(1);
  const at::Tensor order = draws.permutation("special", request.rank, blocks.size(0));
  const auto block = [&](int64_t i) { return blocks[order[i].item<int64_t>()]; };
  block(0).zero_();
  const at::Tensor alone = draws.integers("alone", request.rank, {1}, 0, length - 1);
  block(1).mul_(at::arange(length, alone.options()) == alone);
  block(2).fill_(-0.0);
  const at::Tensor magnitude = block(3).abs();
  block(3).copy_(at::where(magnitude == magnitude.max(), -magnitude, block(3)));
  block(4).copy_(ties(request, draws, length));
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = request.param("M"), columns = request.param("N"), length = request.param("BLK");
  const int64_t count = rows * columns / length;
  const at::Tensor exponent = draws.uniform("exponent", request.rank, {count, 1}, -10, 10);
  // In fp64, so that machines whose exp2 differs in the last bit still round to the same fp32.
  const at::Tensor scale = at::exp2(exponent.to(at::kDouble)).to(at::kFloat);
  at::Tensor blocks = draws.normal("local_tensor", request.rank, {count, length}, 0, 1).mul_(scale);
  if (count >= kSpecialBlocks) plant_special(request, draws, blocks);
  out["local_tensor"] = blocks.to(at::kBFloat16).view({rows, columns});
}
PKB_INPUTS(draw)
