// SPDX-License-Identifier: Apache-2.0
//
// local_y = e4m3(64 * normal), and in each chunk, at a place that is drawn, every finite code once in random order.
// local_s = 2^(u - 2d), u uniform in [-10, 2], for the chunk of rank d: each chunk has a range of scales of its own.
#include <pkb/inputs.h>

namespace {

constexpr int64_t kFiniteCodes = 254;  // 0x00 .. 0x7e and 0x80 .. 0xfe

/// bytes [W, n]
void plant_all_codes(const pkb::DrawRequest& request, const pkb::Draws& draws, const at::Tensor& bytes) {
  const int64_t chunks = bytes.size(0), length = bytes.size(1);
  const at::Tensor first = draws.integers("place", request.rank, {chunks}, 0, length - kFiniteCodes).cpu();
  for (int64_t d = 0; d < chunks; ++d) {
    const at::Tensor order = draws.permutation("codes of chunk " + std::to_string(d), request.rank, kFiniteCodes);
    const at::Tensor codes = order + (order >= 0x7f);  // leaves out 0x7f, a NaN
    bytes[d].narrow(0, first[d].item<int64_t>(), kFiniteCodes).copy_(codes);
  }
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = request.param("M"), columns = request.param("N"), length = rows * columns;
  const int64_t chunks = request.world, blocks = length / request.param("BLK");
  const at::Tensor codes = draws.normal("local_y", request.rank, {chunks, length}, 0, 64).to(at::kFloat8_e4m3fn);
  if (length >= kFiniteCodes) plant_all_codes(request, draws, codes.view(at::kByte));
  out["local_y"] = codes.view({chunks, rows, columns});

  const at::Tensor u = draws.uniform("local_s", request.rank, {chunks, blocks}, -10, 2).to(at::kDouble);
  const at::Tensor chunk = at::arange(chunks, u.options()).unsqueeze(1);
  // In fp64, so that machines whose exp2 differs in the last bit still round to the same fp32.
  out["local_s"] = at::exp2(u - 2 * chunk).to(at::kFloat);
}
PKB_INPUTS(draw)
