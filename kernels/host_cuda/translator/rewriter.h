// SPDX-License-Identifier: Apache-2.0
//
// Preprocessed CUDA C++ -> C++ that runs on the host device's runtime.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.h"

namespace pkb::translate {

/// Insertions and erasures, applied at once. Erased tokens leave the lines of the others as they are.
class Edits {
 public:
  void insert_before(const Token& token, const std::string& text) { edits_[token.offset].before += text; }
  void insert_after(const Token& token, const std::string& text) { edits_[token.end()].after += text; }
  void erase(std::size_t offset, std::size_t length) { edits_[offset].erased = length; }
  void erase(const Token& token) { erase(token.offset, token.text.size()); }
  void replace(const Token& token, const std::string& text) {
    insert_before(token, text);
    erase(token);
  }
  std::string apply(std::string_view source) const;

 private:
  struct Edit {
    std::string after;   ///< belongs to the token that ends here
    std::string before;  ///< to the one that begins here
    std::size_t erased = 0;
  };
  std::map<std::size_t, Edit> edits_;
};

class Rewriter {
 public:
  Rewriter(std::string_view source, const TokenList& list) : source_(source), list_(list), tokens_(list.tokens) {}

  /// Throws TranslationError with every fault found.
  std::string run();

 private:
  struct Range {
    std::size_t first, last;
    bool contains(std::size_t index) const { return index > first && index < last; }
  };
  struct Parameters {
    std::string arguments;  ///< as template arguments: "T, N, Ts..."
    std::string types;      ///< as function parameter types: "decltype(a), decltype(b)..."
  };
  /// A variable in shared memory, visible in a range of tokens.
  struct SharedName {
    std::string_view name;
    Range scope;
  };

  void pragmas();
  void token(std::size_t index);
  void fault(std::size_t index, const std::string& what);

  // functions.cpp
  void kernel(std::size_t index);
  void device_function(std::size_t index);
  std::size_t launch(std::size_t index);  ///< returns where to go on
  std::size_t callee_start(std::size_t launch) const;
  std::size_t statement_start(std::size_t index) const;
  std::string launch_bound(std::size_t first, std::size_t last);
  std::string name_template_parameters(std::size_t open, std::size_t close);
  std::string name_parameters(std::size_t open, std::size_t close);
  std::vector<Range> split(std::size_t open, std::size_t close) const;
  std::string name_of(Range parameter, bool of_template, bool& is_pack);

  // statements.cpp
  void loop(std::size_t index);
  void do_loop(std::size_t index);
  bool is_counted(std::size_t open) const;
  bool only_waits(std::size_t first, std::size_t last) const;
  std::size_t statement_end(std::size_t first) const;
  void shared(std::size_t index);
  void extern_shared(std::size_t first, std::size_t last);
  void static_shared(std::size_t first, std::size_t last);
  std::vector<std::string_view> declared_names(std::size_t first, std::size_t last) const;
  std::size_t enclosing_end(std::size_t index) const;
  void lambda(std::size_t index);
  void erase_call(std::size_t index);

  // checks.cpp
  void refused_name(std::size_t index);
  void inline_assembly(std::size_t index);
  void foreign_headers();

  std::string_view source_;
  const TokenList& list_;
  const std::vector<Token>& tokens_;
  Edits edits_;
  std::string faults_;
  std::vector<Range> device_bodies_;
  std::set<std::size_t> loop_tails_;  ///< the `while` of do loops
  std::vector<SharedName> shared_names_;
  int counter_ = 0;
};

}  // namespace pkb::translate
