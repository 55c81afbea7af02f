// SPDX-License-Identifier: Apache-2.0
//
// gate = normal - (2 + 6*j/(Hv-1)) for value head j: a token's state decays by about 0.86 in the first head, by 0.9996
// in the last. beta = sigmoid(normal).
#include <pkb/inputs.h>

#include <algorithm>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t per_rank = (request.param("H0") + request.world - 1) / request.world;
  const int64_t heads = request.param("vrep") * per_rank * request.world;
  const std::vector<int64_t> shape{request.param("B"), request.param("L"), heads};
  const at::Tensor head = at::arange(heads, at::TensorOptions().dtype(at::kDouble));
  const at::Tensor shift = (head * 6 / static_cast<double>(std::max<int64_t>(heads - 1, 1)) + 2).to(at::kFloat);
  out["gate"] = (draws.normal("gate", request.rank, shape, 0, 1) - shift.to(request.device)).to(at::kBFloat16);
  out["beta"] = draws.normal("beta", request.rank, shape, 0, 1).sigmoid_().to(at::kBFloat16);
}
PKB_INPUTS(draw)
