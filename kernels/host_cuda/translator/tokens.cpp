// SPDX-License-Identifier: Apache-2.0
#include "tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <unordered_map>

namespace pkb::translate {

namespace {

bool starts_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c < 0;
}
bool continues_identifier(char c) {
  return starts_identifier(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view trusted) : source_(source), trusted_(trusted) {}

  TokenList run() {
    while (at_ < source_.size()) {
      if (source_[at_] == '#') {
        directive();
      } else if (skip_) {
        at_ = std::min(source_.find('\n', at_), source_.size() - 1) + 1;
      } else {
        line();
      }
    }
    match_brackets();
    return std::move(list_);
  }

 private:
  std::string_view rest_of_line() const { return source_.substr(at_, source_.find('\n', at_) - at_); }

  // `# 12 "file.cu" 1 3`, or a pragma.
  void directive() {
    const std::string_view text = rest_of_line();
    const std::size_t quote = text.find('"');
    if (text.size() > 2 && std::isdigit(static_cast<unsigned char>(text[2])) != 0 && quote != std::string_view::npos) {
      marker(text, quote);
    } else {
      if (!skip_) list_.pragmas.push_back({at_, text});
      ++line_;
    }
    at_ = std::min(at_ + text.size() + 1, source_.size());
  }

  void marker(std::string_view text, std::size_t quote) {
    std::from_chars(text.data() + 2, text.data() + text.size(), line_);
    const std::size_t end = text.rfind('"');
    const std::string path(text.substr(quote + 1, end - quote - 1));
    const std::string_view flags = text.substr(end + 1);
    const bool is_system = flags.find('3') != std::string_view::npos;
    const auto [entry, is_new] = file_index_.emplace(path, static_cast<int>(list_.files.size()));
    if (is_new) {
      // Later markers of the same file may say "system" where a system header's macro was expanded.
      list_.files.push_back(path);
      passed_over_.push_back(is_system || path.starts_with('<') || (!trusted_.empty() && path.starts_with(trusted_)));
    }
    file_ = entry->second;
    skip_ = passed_over_[static_cast<std::size_t>(file_)];
    if (flags.find('1') != std::string_view::npos) {
      open_inclusions_.push_back(list_.inclusions.size());
      list_.inclusions.push_back({path, is_system, {}});
    } else if (flags.find('2') != std::string_view::npos && !open_inclusions_.empty()) {
      list_.inclusions[open_inclusions_.back()].from = {file_, line_ - 1};  // back on the line after it
      open_inclusions_.pop_back();
    }
  }

  void line() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        return;
      }
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else {
        token();
      }
    }
  }

  void token() {
    const char c = source_[at_];
    if (const std::optional<std::size_t> length = text_length()) {
      add(TokenKind::text, *length);
    } else if (starts_identifier(c)) {
      add(TokenKind::identifier, identifier_length(at_));
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
               (c == '.' && at_ + 1 < source_.size() &&
                std::isdigit(static_cast<unsigned char>(source_[at_ + 1])) != 0)) {
      add(TokenKind::number, number_length());
    } else {
      add(TokenKind::punctuator, punctuator_length());
    }
  }

  void add(TokenKind kind, std::size_t length) {
    const std::string_view text = source_.substr(at_, length);
    list_.tokens.push_back({kind, text, at_, line_, file_});
    line_ += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    at_ += length;
  }

  std::size_t identifier_length(std::size_t from) const {
    std::size_t end = from;
    while (end < source_.size() && continues_identifier(source_[end])) ++end;
    return end - from;
  }

  std::size_t number_length() const {
    std::size_t end = at_;
    while (end < source_.size()) {
      const char c = source_[end];
      const bool sign =
          (c == '+' || c == '-') && std::string_view("eEpP").find(source_[end - 1]) != std::string_view::npos;
      if (!continues_identifier(c) && c != '.' && c != '\'' && !sign) break;
      ++end;
    }
    return end - at_;
  }

  // Of a string or character literal with its prefix; nothing if there is none here.
  std::optional<std::size_t> text_length() const {
    const std::size_t prefix = identifier_length(at_);
    if (prefix > 3 || at_ + prefix >= source_.size()) return std::nullopt;
    const char quote = source_[at_ + prefix];
    if (quote != '"' && quote != '\'') return std::nullopt;
    const std::string_view name = source_.substr(at_, prefix);
    static constexpr std::array<std::string_view, 10> kPrefixes = {"",  "L",  "u",  "U",  "u8",
                                                                   "R", "LR", "uR", "UR", "u8R"};
    if (std::find(kPrefixes.begin(), kPrefixes.end(), name) == kPrefixes.end()) return std::nullopt;
    if (quote == '"' && name.ends_with('R')) {
      const std::size_t open = source_.find('(', at_);
      const std::string close = ")" + std::string(source_.substr(at_ + prefix + 1, open - at_ - prefix - 1)) + "\"";
      return source_.find(close, open) + close.size() - at_;
    }
    std::size_t end = at_ + prefix + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n') end += source_[end] == '\\' ? 2 : 1;
    return end + 1 - at_;
  }

  std::size_t punctuator_length() const {
    static constexpr std::array<std::string_view, 23> kLong = {"<<<", "...", "<=>", "->*", "<<=", "::", "->", "++",
                                                               "--",  "<=",  ">=",  "==",  "!=",  "&&", "||", "+=",
                                                               "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^="};
    for (const std::string_view text : kLong) {
      if (source_.substr(at_, text.size()) == text) return text.size();
    }
    return 1;
  }

  void match_brackets() {
    list_.partner.assign(list_.tokens.size(), kNone);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < list_.tokens.size(); ++i) {
      const Token& token = list_.tokens[i];
      if (token.kind != TokenKind::punctuator || token.text.size() != 1) continue;
      const char c = token.text[0];
      if (c == '(' || c == '[' || c == '{') {
        open.push_back(i);
      } else if (c == ')' || c == ']' || c == '}') {
        if (open.empty())
          throw TranslationError(list_.where(i) + ": error: '" + std::string(token.text) + "' closes nothing");
        list_.partner[i] = open.back();
        list_.partner[open.back()] = i;
        open.pop_back();
      }
    }
    if (!open.empty()) {
      throw TranslationError(list_.where(open.back()) + ": error: '" + std::string(list_.tokens[open.back()].text) +
                             "' is never closed");
    }
  }

  std::string_view source_;
  std::string_view trusted_;
  TokenList list_;
  std::unordered_map<std::string, int> file_index_;
  std::vector<bool> passed_over_;  ///< by file
  std::vector<std::size_t> open_inclusions_;
  std::size_t at_ = 0;
  int line_ = 1;
  int file_ = 0;
  bool skip_ = true;
};

}  // namespace

std::string TokenList::where(Place place) const {
  return files[static_cast<std::size_t>(place.file)] + ":" + std::to_string(place.line);
}

std::string TokenList::flat(std::size_t first, std::size_t last) const {
  std::string text;
  for (std::size_t i = first; i < last; ++i) {
    if (i > first && tokens[i - 1].end() != tokens[i].offset) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

std::size_t TokenList::closing_angle(std::size_t open) const {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (is(i, "<")) {
      ++depth;
    } else if (is(i, ">")) {
      if (--depth == 0) return i;
    } else if (is(i, ";") || is(i, "{") || is(i, "}")) {
      return kNone;
    } else if (is(i, "(") || is(i, "[")) {
      i = partner[i];
    }
  }
  return kNone;
}

std::size_t TokenList::opening_angle(std::size_t close) const {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (is(i, ">")) {
      ++depth;
    } else if (is(i, "<")) {
      if (--depth == 0) return i;
    } else if (is(i, ";") || is(i, "{") || is(i, "}")) {
      return kNone;
    } else if (is(i, ")") || is(i, "]")) {
      i = partner[i];
    }
  }
  return kNone;
}

TokenList tokenize(std::string_view source, std::string_view trusted) {
  return Lexer(source, trusted).run();
}

}  // namespace pkb::translate
