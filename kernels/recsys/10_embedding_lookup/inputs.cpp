// SPDX-License-Identifier: Apache-2.0
//
// indices into the W*S rows: uniform, or by case: Zipf with exponent 1.1; all of one rank, the same for everybody; none
// of rank r + 1; one row for everybody; uniform but sorted; first and last rows of the shards.
#include <pkb/inputs.h>

#include <cmath>
#include <string>

namespace {

constexpr double kZipf = 1.1;

/// Rows 0 .. n - 1 with probabilities that fall like (row + 1)^-kZipf.
at::Tensor zipf(const at::Tensor& u, int64_t n) {
  const double end = std::pow(static_cast<double>(n + 1), 1 - kZipf);
  const at::Tensor x = u.to(at::kDouble).mul_(end - 1).add_(1).pow_(1 / (1 - kZipf));
  return x.floor().to(at::kLong).sub_(1).clamp_(0, n - 1);
}

at::Tensor indices(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t count = request.param("L"), shard = request.param("S"), ranks = request.world, rows = ranks * shard;
  const int rank = request.rank;
  const std::string& name = request.case_name;
  const auto integers = [&](const char* stream, int64_t n) { return draws.integers(stream, rank, {count}, 0, n - 1); };
  const auto shared = [&](int64_t n) { return draws.integers("shared", -1, {1}, 0, n - 1); };

  if (name == "zipf") return zipf(draws.uniform("indices", rank, {count}, 0, 1), rows);
  if (name == "one_owner") return integers("row", shard) + shared(ranks) * shard;
  if (name == "skips_next_rank") {
    // Owners rank + 2, rank + 3, .. and rank itself.
    const at::Tensor owner = integers("owner", ranks - 1).add_(rank + 2).remainder_(ranks);
    return owner.mul_(shard).add_(integers("row", shard));
  }
  if (name == "one_row") return shared(rows).expand({count}).contiguous();
  if (name == "boundaries") return integers("owner", ranks).mul_(shard).add_(integers("side", 2).mul_(shard - 1));
  const at::Tensor anywhere = integers("indices", rows);
  return name == "sorted" ? std::get<0>(anywhere.sort()) : anywhere;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  out["indices"] = indices(request, draws);
}
PKB_INPUTS(draw)
