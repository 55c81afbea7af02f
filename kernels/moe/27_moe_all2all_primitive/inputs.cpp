// SPDX-License-Identifier: Apache-2.0
//
// S[s][d], the rows from s to d: even, M/W each; circulant, q[(d - s) mod W] with q[j] in proportion to j; skewed, in
// proportion to 1/(1 + (d + 3s) mod W), but rank 1 sends all to rank 0. Remainders go to the last part.
// Rows are normal and begin with (rank, row) in whole numbers that bf16 holds, so that a misplaced row can be named.
#include <pkb/inputs.h>

#include <numeric>
#include <string>
#include <vector>

namespace {

using List = std::vector<int64_t>;

/// The last part takes what the others leave.
List with_remainder(List parts, int64_t rows) {
  parts.back() = 0;
  parts.back() = rows - std::accumulate(parts.begin(), parts.end(), int64_t{0});
  return parts;
}

List even(int64_t rows, int64_t ranks) {
  return with_remainder(List(static_cast<std::size_t>(ranks), rows / ranks), rows);
}

List circulant(int64_t rows, int64_t ranks, int64_t source) {
  List by_distance(static_cast<std::size_t>(ranks)), parts(static_cast<std::size_t>(ranks));
  for (int64_t j = 0; j < ranks; ++j) {
    by_distance[static_cast<std::size_t>(j)] = rows * j / (ranks * (ranks - 1) / 2);
  }
  by_distance = with_remainder(by_distance, rows);
  for (int64_t d = 0; d < ranks; ++d) {
    parts[static_cast<std::size_t>(d)] = by_distance[static_cast<std::size_t>((d - source + ranks) % ranks)];
  }
  return parts;
}

List skewed(int64_t rows, int64_t ranks, int64_t source) {
  List parts(static_cast<std::size_t>(ranks));
  if (source == 1) {
    parts.front() = rows;
    return parts;
  }
  double total = 0;
  for (int64_t j = 0; j < ranks; ++j) total += 1.0 / static_cast<double>(1 + j);
  for (int64_t d = 0; d < ranks; ++d) {
    const double share = 1 / (static_cast<double>(1 + (d + 3 * source) % ranks) * total);
    parts[static_cast<std::size_t>(d)] = static_cast<int64_t>(static_cast<double>(rows) * share);
  }
  return with_remainder(parts, rows);
}

List rows_from(int64_t source, const pkb::DrawRequest& request) {
  const int64_t rows = request.param("M");
  if (request.case_name == "circulant") return circulant(rows, request.world, source);
  if (request.case_name == "skewed") return skewed(rows, request.world, source);
  return even(rows, request.world);
}

at::Tensor tagged_rows(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t rows = request.param("M"), width = request.param("N");
  const at::Tensor values = draws.normal("local_tensor", request.rank, {rows, width}, 0, 1).to(at::kBFloat16);
  const at::Tensor row = at::arange(rows, at::TensorOptions().dtype(at::kLong).device(request.device));
  const at::Tensor tag =
      at::stack({at::full_like(row, request.rank), row.bitwise_right_shift(16), row.bitwise_right_shift(8), row}, 1)
          .bitwise_and(255);
  const int64_t tagged = std::min(width, tag.size(1));
  values.narrow(1, 0, tagged).copy_(tag.narrow(1, 0, tagged));
  return values;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  List received;
  for (int s = 0; s < request.world; ++s) {
    received.push_back(rows_from(s, request)[static_cast<std::size_t>(request.rank)]);
  }
  out["input_split_sizes"] = at::tensor(rows_from(request.rank, request), at::kLong);
  out["output_split_sizes"] = at::tensor(received, at::kLong);
  out["local_tensor"] = tagged_rows(request, draws);
}
PKB_INPUTS(draw)
