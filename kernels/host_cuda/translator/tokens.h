// SPDX-License-Identifier: Apache-2.0
//
// Preprocessed CUDA C++ as tokens. Only text of the candidate and of the toolkit becomes tokens; system headers and the
// runtime's own are passed over, so that the work grows with the candidate and not with what it includes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pkb::translate {

/// What stops a translation: "file:line: error: ..." lines.
class TranslationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class TokenKind { identifier, number, text, punctuator };

struct Token {
  TokenKind kind;
  std::string_view text;  ///< in the source
  std::size_t offset;     ///< of its first character
  int line;
  int file;  ///< index into TokenList::files

  bool is(std::string_view other) const { return text == other; }
  std::size_t end() const { return offset + text.size(); }
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Place {
  int file;
  int line;
};

/// A file that was included, and where.
struct Inclusion {
  std::string path;
  bool is_system;
  Place from;
};

struct TokenList {
  std::vector<Token> tokens;
  std::vector<std::size_t> partner;  ///< of each bracket token, else kNone
  std::vector<std::string> files;
  std::vector<Inclusion> inclusions;
  struct Pragma {
    std::size_t offset;
    std::string_view text;  ///< the line
  };
  std::vector<Pragma> pragmas;

  std::string where(Place place) const;
  std::string where(std::size_t index) const { return where({tokens[index].file, tokens[index].line}); }
  bool is(std::size_t index, std::string_view text) const { return index < tokens.size() && tokens[index].is(text); }
  bool is_identifier(std::size_t index) const {
    return index < tokens.size() && tokens[index].kind == TokenKind::identifier;
  }
  /// The tokens from `first` to before `last` on one line, spaced as they were.
  std::string flat(std::size_t first, std::size_t last) const;
  /// Of the `<` at `open`; kNone when it closes nowhere before a `;` or `{`.
  std::size_t closing_angle(std::size_t open) const;
  /// Of the `>` at `close`, backwards.
  std::size_t opening_angle(std::size_t close) const;
};

/// Splits preprocessed source. Files whose path begins with `trusted` count as system headers. `<<<` is one token;
/// every other `<` and `>` of brackets and shifts is a token of its own.
TokenList tokenize(std::string_view source, std::string_view trusted);

}  // namespace pkb::translate
