// SPDX-License-Identifier: Apache-2.0
//
// logits = 3 * normal, plus 100 on all columns of rank floor(t/2) mod W for odd tokens t: without the global maximum
// exp overflows. target uniform over the vocabulary, 5 % of them at the edges of a rank's range; the same on all ranks.
#include <pkb/inputs.h>

namespace {

at::Tensor logits(const pkb::DrawRequest& request, const pkb::Draws& draws, at::IntArrayRef shape) {
  at::Tensor values = draws.normal("vocab_parallel_logits", request.rank, shape, 0, 3);
  const at::Tensor token = at::arange(shape[0], at::TensorOptions().dtype(at::kLong).device(request.device));
  const at::Tensor raised =
      at::logical_and(token.remainder(2) == 1, token.floor_divide(2).remainder(request.world) == request.rank);
  values.add_(raised.unsqueeze(-1).to(at::kFloat).mul_(100));
  return values.to(at::kBFloat16);
}

at::Tensor targets(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t tokens, int64_t vocabulary) {
  const at::Tensor anywhere = draws.integers("target", -1, {tokens}, 0, vocabulary - 1);
  // Edge 2r is the first word of rank r's range, 2r + 1 its last.
  const at::Tensor edge = draws.integers("edge", -1, {tokens}, 0, 2 * request.world - 1);
  const at::Tensor at_edge = edge.add(1).floor_divide(2) * (vocabulary / request.world) - edge.remainder(2);
  const at::Tensor is_edge = draws.uniform("is edge", -1, {tokens}, 0, 1) < 0.05;
  return at::where(is_edge, at_edge, anywhere);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t batch = request.param("B"), length = request.param("S"), vocabulary = request.param("V");
  const int64_t tokens = batch * length, width = vocabulary / request.world;
  out["vocab_parallel_logits"] = logits(request, draws, {tokens, width}).view({batch, length, width});
  out["target"] = targets(request, draws, tokens, vocabulary).view({batch, length});
}
PKB_INPUTS(draw)
