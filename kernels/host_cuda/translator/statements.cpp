// SPDX-License-Identifier: Apache-2.0
//
// Loops, shared variables, and the lambdas that use them.
#include <algorithm>

#include "rewriter.h"

namespace pkb::translate {

namespace {

// Stands before a statement and runs with it. A whole statement of its own, so that a following else keeps its if.
constexpr const char* kTick = " if (::pkb::hostcuda::tick()) {} else ";
constexpr const char* kWaitTick = " if (::pkb::hostcuda::wait_tick()) {} else ";

bool is_comparison(const Token& token) {
  return token.is("<") || token.is(">") || token.is("<=") || token.is(">=") || token.is("!=");
}

}  // namespace

void Rewriter::loop(std::size_t index) {
  if (loop_tails_.contains(index) || !list_.is(index + 1, "(")) return;
  if (tokens_[index].is("for") && is_counted(index + 1)) return;
  const std::size_t header_end = list_.partner[index + 1];
  const bool waits = only_waits(index + 1, statement_end(header_end + 1));
  edits_.insert_after(tokens_[header_end], waits ? kWaitTick : kTick);
}

void Rewriter::do_loop(std::size_t index) {
  const std::size_t end = statement_end(index + 1);
  loop_tails_.insert(end + 1);
  const bool waits = list_.is(end + 2, "(") && only_waits(index + 1, list_.partner[end + 2]);
  edits_.insert_after(tokens_[index], waits ? kWaitTick : kTick);
}

// The `;` or `}` of a statement that begins here; of an if, the end of its first branch.
std::size_t Rewriter::statement_end(std::size_t first) const {
  std::size_t end = first;
  while (end < tokens_.size() && !list_.is(end, ";") && !list_.is(end, "{")) {
    end = list_.partner[end] != kNone ? list_.partner[end] + 1 : end + 1;
  }
  return list_.is(end, "{") ? list_.partner[end] : end;
}

// Short, and nothing in it counts: while (*flag != epoch) {}.
bool Rewriter::only_waits(std::size_t first, std::size_t last) const {
  constexpr std::size_t kShort = 40;
  if (last - first > kShort) return false;
  return std::none_of(
      tokens_.begin() + static_cast<std::ptrdiff_t>(first), tokens_.begin() + static_cast<std::ptrdiff_t>(last),
      [](const Token& token) {
        const bool counts = token.text.size() == 2 && token.text[1] == '=' && !is_comparison(token) && !token.is("==");
        return counts || token.is("++") || token.is("--") || token.is("<<=") || token.is("for") || token.is("while");
      });
}

// for (int i = 0; i < n; ++i) without a way out of its body: ends by itself, whatever other threads do.
bool Rewriter::is_counted(std::size_t open) const {
  const std::size_t close = list_.partner[open];
  std::vector<std::size_t> semicolons;
  for (std::size_t i = open + 1; i < close; ++i) {
    if (list_.is(i, ";")) semicolons.push_back(i);
    if (list_.partner[i] != kNone) i = list_.partner[i];
  }
  if (semicolons.empty()) {  // over a range
    return true;
  }
  if (semicolons.size() != 2) return false;
  const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(semicolons[0] + 1);
  const auto last = tokens_.begin() + static_cast<std::ptrdiff_t>(semicolons[1]);
  std::size_t variable = semicolons[1] + 1;
  while (variable < close && !list_.is_identifier(variable)) ++variable;
  if (variable == close) return false;
  const bool compares = std::any_of(first, last, is_comparison);
  const bool of_variable =
      std::any_of(first, last, [&](const Token& token) { return token.text == tokens_[variable].text; });
  if (!compares || !of_variable) return false;

  const std::size_t end = statement_end(close + 1);
  return std::none_of(tokens_.begin() + static_cast<std::ptrdiff_t>(close),
                      tokens_.begin() + static_cast<std::ptrdiff_t>(end), [](const Token& token) {
                        return token.is("break") || token.is("return") || token.is("goto") || token.is("volatile");
                      });
}

void Rewriter::shared(std::size_t index) {
  const std::size_t first = statement_start(index);
  std::size_t last = index;
  bool is_extern = false;
  while (last < tokens_.size() && !list_.is(last, ";")) {
    last = list_.partner[last] != kNone ? list_.partner[last] + 1 : last + 1;
  }
  if (last >= tokens_.size() || enclosing_end(index) == kNone) {
    return fault(index, "a __shared__ variable outside any function: declare it in the kernel");
  }
  for (std::size_t i = first; i < last; ++i) {
    const Token& token = tokens_[i];
    if (token.is("extern")) is_extern = true;
    if (token.is("extern") || token.is("static") || token.is("__shared__")) edits_.erase(token);
  }
  is_extern ? extern_shared(first, last) : static_shared(first, last);
}

// extern __shared__ T s[];  ->  T (&s)[] = *reinterpret_cast<T (*)[]>(dynamic_shared());
void Rewriter::extern_shared(std::size_t first, std::size_t last) {
  std::string type;
  std::size_t name = kNone, dimensions = last;
  for (std::size_t i = first; i < last; ++i) {
    const Token& token = tokens_[i];
    if (token.is("alignas") || token.is("__attribute__")) {
      erase_call(i);
      i = list_.partner[i + 1];
    } else if (token.is("[")) {
      dimensions = i;
      name = i - 1;
      break;
    }
  }
  if (name == kNone || !list_.is_identifier(name)) {
    return fault(first, "extern __shared__ declares an array without a size: extern __shared__ T name[];");
  }
  for (std::size_t i = first; i < name; ++i) {
    const Token& token = tokens_[i];
    if (token.is("extern") || token.is("static") || token.is("__shared__")) continue;
    if (token.is("alignas") || token.is("__attribute__")) {
      i = list_.partner[i + 1];
      continue;
    }
    type += std::string(token.text) + " ";
  }
  const std::string name_text(tokens_[name].text);
  edits_.replace(tokens_[name], "(&" + name_text + ")");
  edits_.insert_before(tokens_[last], " = *reinterpret_cast<" + type + "(*)" + list_.flat(dimensions, last) +
                                          ">(::pkb::hostcuda::dynamic_shared())");
  shared_names_.push_back({tokens_[name].text, {name, enclosing_end(name)}});
}

// __shared__ T a[4], b;  ->  struct S { T a[4], b; }; auto& r = shared<S>(); auto& a = r.a; auto& b = r.b;
void Rewriter::static_shared(std::size_t first, std::size_t last) {
  const std::vector<std::string_view> names = declared_names(first, last);
  if (names.empty()) return fault(first, "this __shared__ declaration is too much for the translator");
  const std::string number = std::to_string(counter_++);
  std::string references = " }; auto& pkb_memory" + number + " = ::pkb::hostcuda::shared<PkbShared" + number + ">();";
  for (const std::string_view name : names) {
    references += " auto& " + std::string(name) + " = pkb_memory" + number + "." + std::string(name) + ";";
    shared_names_.push_back({name, {last, enclosing_end(last)}});
  }
  edits_.insert_before(tokens_[first], "struct PkbShared" + number + " { ");
  edits_.insert_after(tokens_[last], references);
}

// The last word of each declarator.
std::vector<std::string_view> Rewriter::declared_names(std::size_t first, std::size_t last) const {
  std::vector<std::string_view> names;
  std::size_t word = kNone;
  bool has_dimension = false;
  for (std::size_t i = first; i <= last; ++i) {
    if (i == last || list_.is(i, ",")) {
      if (word == kNone) return {};
      names.push_back(tokens_[word].text);
      word = kNone;
      has_dimension = false;
    } else if (list_.is(i, "<")) {
      const std::size_t close = list_.closing_angle(i);
      if (close != kNone && close < last) i = close;
    } else if (list_.is(i, "[")) {
      has_dimension = true;
      i = list_.partner[i];
    } else if (list_.is(i, "=")) {
      return {};
    } else if (list_.partner[i] != kNone) {
      i = list_.partner[i];
    } else if (list_.is_identifier(i) && !has_dimension) {
      word = i;
    }
  }
  return names;
}

// The `}` of the innermost block around a token; kNone at the top.
std::size_t Rewriter::enclosing_end(std::size_t index) const {
  for (std::size_t i = index; i < tokens_.size(); ++i) {
    if (list_.is(i, "}") && list_.partner[i] < index) {
      // A namespace is no block: `namespace a {`, `namespace {`, `extern "C" {`.
      const std::size_t open = list_.partner[i];
      std::size_t before = open;
      while (before > 0 && (list_.is_identifier(before - 1) || list_.is(before - 1, "::")) &&
             !list_.is(before - 1, "namespace"))
        --before;
      if (before > 0 && (list_.is(before - 1, "namespace") || tokens_[before - 1].kind == TokenKind::text)) continue;
      return i;
    }
    if (list_.is(i, "{")) i = list_.partner[i];
  }
  return kNone;
}

// Shared variables are references here, but on a GPU they are not captured at all: a lambda takes them by reference.
void Rewriter::lambda(std::size_t index) {
  if (shared_names_.empty()) return;
  const std::size_t close = list_.partner[index];
  const bool is_subscript = index > 0 && (list_.is(index - 1, ")") || list_.is(index - 1, "]") ||
                                          (list_.is_identifier(index - 1) && !list_.is(index - 1, "return")));
  if (is_subscript || list_.is(index + 1, "[")) return;
  const bool all_by_reference = list_.is(index + 1, "&") && (index + 2 == close || list_.is(index + 2, ","));
  if (all_by_reference) return;
  std::size_t body = close + 1;
  while (body < tokens_.size() && !list_.is(body, "{")) {
    if (list_.is(body, ";") || list_.is(body, ")") || list_.is(body, "]") || list_.is(body, "}")) return;
    body = list_.is(body, "(") ? list_.partner[body] + 1 : body + 1;
  }
  std::set<std::string_view> used;
  for (std::size_t i = body; i < list_.partner[body]; ++i) {
    for (const SharedName& shared : shared_names_) {
      if (shared.scope.contains(index) && tokens_[i].text == shared.name && !list_.is(i - 1, ".") &&
          !list_.is(i - 1, "->")) {
        used.insert(shared.name);
      }
    }
  }
  std::string captures;
  for (const std::string_view name : used)
    captures += ((captures.empty() && index + 1 == close) ? "&" : ", &") + std::string(name);
  if (!captures.empty()) edits_.insert_before(tokens_[close], captures);
}

}  // namespace pkb::translate
