// SPDX-License-Identifier: Apache-2.0
//
// key_value = normal, but 50 for the tokens behind `chunk` in each range, which are to be dropped: a leak shows.
// k_ranges: range i sees `window` chunks, its own last; in the case random_ranges any keys first <= .. < end.
#include <pkb/inputs.h>

#include <algorithm>

namespace {

/// The value of keys that nobody may see.
constexpr double kLeak = 50;

at::Tensor window_ranges(int64_t ranges, int64_t chunk, int64_t window) {
  const at::Tensor end = (at::arange(ranges, at::TensorOptions().dtype(at::kLong)) + 1) * chunk;
  return at::stack({(end - window * chunk).clamp_min_(0), end}, 1);
}

at::Tensor random_ranges(const pkb::Draws& draws, int64_t ranges, int64_t keys) {
  const at::Tensor tokens = draws.integers("k_ranges", -1, {ranges, 2}, 0, keys - 1);
  return at::stack({tokens.amin(1), tokens.amax(1) + 1}, 1);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t ranges = request.param("R"), chunk = request.param("chunk");
  const int64_t tokens = (chunk + request.world - 1) / request.world;
  const int64_t heads = request.param("Hkv"), width = 2 * request.param("D");

  at::Tensor key_value = draws.normal("key_value", request.rank, {ranges, tokens, heads, width}, 0, 1);
  const int64_t kept = std::clamp<int64_t>(chunk - request.rank * tokens, 0, tokens);
  key_value.narrow(1, kept, tokens - kept).fill_(kLeak);
  out["key_value"] = key_value.view({ranges * tokens, heads, width}).to(at::kBFloat16);
  out["k_ranges"] = request.custom("k_ranges") == "random_ranges"
                        ? random_ranges(draws, ranges, ranges * chunk)
                        : window_ranges(ranges, chunk, request.param("window")).to(request.device);
}
PKB_INPUTS(draw)
