// SPDX-License-Identifier: Apache-2.0
#include "team/text.h"

namespace pkb {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Length of the UTF-8 character that starts here; 0: none does.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first >= 0xF5 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate_or_beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || surrogate_or_beyond ? 0 : length;
}

bool is_printable(char c) {
  return static_cast<unsigned char>(c) >= 0x20 ? c != 0x7F : c == '\n' || c == '\t';
}

/// Cuts at a character; also from the middle of broken text.
std::string_view cut(std::string_view text, std::size_t longest, bool keep_end) {
  if (text.size() <= longest) return text;
  if (!keep_end) {
    while (longest > 0 && is_continuation(text[longest])) --longest;
    return text.substr(0, longest);
  }
  text.remove_prefix(text.size() - longest);
  while (!text.empty() && is_continuation(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t longest, bool keep_end) {
  text = cut(text, longest, keep_end);
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length > 1) {
      clean += text.substr(0, length);
    } else {
      clean += length == 1 && is_printable(text[0]) ? text[0] : '?';
    }
    text.remove_prefix(length > 1 ? length : 1);
  }
  return clean;
}

}  // namespace pkb
