// SPDX-License-Identifier: Apache-2.0
//
// P = 1 + G G^T / BLK of each block, G normal: symmetric and positive. In case not_symmetric, 1e-3 * normal on top.
#include <pkb/inputs.h>

#include <string>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t blocks = request.param("NB"), size = request.param("BLK");
  const auto normal = [&](const char* name, int64_t block, double sigma) {
    return draws.normal(name + std::to_string(block), request.rank, {size, size}, 0, sigma).to(at::kDouble);
  };
  const at::Tensor p = at::empty({blocks, size, size}, at::TensorOptions().dtype(at::kDouble).device(request.device));
  for (int64_t i = 0; i < blocks; ++i) {
    const at::Tensor g = normal("factor of block ", i, 1);
    at::Tensor block = p[i];
    at::mm_out(block, g, g.t()).div_(static_cast<double>(size));
    block.diagonal().add_(1);
    if (request.case_name == "not_symmetric") block.add_(normal("asymmetry of block ", i, 1e-3));
  }
  out["P"] = p;
}
PKB_INPUTS(draw)
