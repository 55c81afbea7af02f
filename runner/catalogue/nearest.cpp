// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "catalogue/catalogue.h"

namespace pkb {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& valid) {
  const std::string wanted = lower(name);
  // A third of the letters may be wrong, and one in any case unless that would be all of them.
  const std::size_t most = std::max<std::size_t>(1, wanted.size() / 3);
  std::string best;
  std::size_t best_distance = most + 1;
  for (const std::string& candidate : valid) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance && distance < std::max(wanted.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || wanted.size() < 3) return best;
  for (const std::string& candidate : valid) {  // the beginning of a longer name
    if (lower(candidate).starts_with(wanted) && (best.empty() || candidate.size() < best.size())) best = candidate;
  }
  return best;
}

}  // namespace pkb
